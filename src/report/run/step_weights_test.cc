#include "ronde/report/run/step_weights.h"

#include <limits>

#include <gtest/gtest.h>

namespace ronde::report {
namespace {

TEST(StepWeights, OfNothingIsNothing) {
  const StepWeights none;
  EXPECT_FALSE(none.steps());
  EXPECT_FALSE(none.middle(100));
  EXPECT_EQ(none.total(), 0u);
}

TEST(StepWeights, TheMiddleOfARunFits) {
  StepWeights weights;
  for (std::int64_t step = 0; step < 101; ++step) weights.add(step, 10);
  EXPECT_EQ(weights.total(), 1010u);
  EXPECT_EQ(weights.steps(), (StepWindow{.first = 0, .last = 100}));
  EXPECT_EQ(weights.middle(50), (StepWindow{.first = 48, .last = 52}));
  EXPECT_EQ(weights.middle(1010), (StepWindow{.first = 0, .last = 100}));
  EXPECT_EQ(weights.middle(5), (StepWindow{.first = 50, .last = 50})) << "one step at least";
}

TEST(StepWeights, OneSideIsFullAndTheOtherGrows) {
  StepWeights weights;
  weights.add(0, 10);
  weights.add(1, 10);
  weights.add(2, 1000);
  for (std::int64_t step = 3; step < 6; ++step) weights.add(step, 10);
  EXPECT_EQ(weights.middle(40), (StepWindow{.first = 3, .last = 5}));
}

TEST(StepWeights, MillionsOfStepsTakeLittleMemoryAndKeepTheirSum) {
  StepWeights weights(64);
  constexpr std::int64_t kSteps = 1'000'000;
  for (int rank = 0; rank < 2; ++rank)
    for (std::int64_t step = 0; step < kSteps; ++step) weights.add(step, 3);
  EXPECT_EQ(weights.total(), 6'000'000u);
  const auto tenth = weights.middle(600'000);
  ASSERT_TRUE(tenth);
  EXPECT_NEAR(static_cast<double>(*tenth->first + *tenth->last) / 2, kSteps / 2.0, kSteps / 20.0);
  EXPECT_NEAR(static_cast<double>(*tenth->last - *tenth->first), 100'000, 40'000);
  EXPECT_LE(*tenth->last - *tenth->first, 100'000);
  const auto few = weights.middle(600);  // less than one place holds
  ASSERT_TRUE(few);
  EXPECT_EQ(*few->last - *few->first + 1, 100);
}

TEST(StepWeights, OfSeveralFilesAreOne) {
  StepWeights one(16), other(4);
  for (std::int64_t step = 0; step < 100; ++step) one.add(step, 1), other.add(step, 2);
  one.add(other);
  EXPECT_EQ(one.total(), 300u);
  EXPECT_EQ(one.steps(), (StepWindow{.first = 0, .last = 99}));
  StepWeights into;
  into.add(one);
  into.add(StepWeights());
  EXPECT_EQ(into.total(), 300u);
  EXPECT_EQ(into.steps(), (StepWindow{.first = 0, .last = 99}));
}

TEST(StepWeights, NumbersThatNoRunHasDoNoHarm) {
  StepWeights weights(2);
  for (const std::int64_t step : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{7},
                                  std::numeric_limits<std::int64_t>::max()})
    weights.add(step, 1);
  EXPECT_EQ(weights.total(), 4u);
  EXPECT_TRUE(weights.middle(1));
}

}  // namespace
}  // namespace ronde::report
