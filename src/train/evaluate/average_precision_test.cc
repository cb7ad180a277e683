#include "ronde/train/evaluate/average_precision.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/data/order/random.h"

namespace ronde::train {
namespace {

// Another way to say it, in quadratic time: the mean over positives of the precision at the positive's own score.
double by_brute_force(const std::vector<Scored>& all) {
  double sum = 0, positives = 0;
  for (const Scored& one : all) {
    if (!one.holds) continue;
    double above = 0, right = 0;
    for (const Scored& other : all)
      if (other.score >= one.score) ++above, right += other.holds;
    sum += right / above;
    ++positives;
  }
  return sum / positives;
}

TEST(AveragePrecision, ByHand) {
  std::vector<Scored> list = {{0.1f, true}, {0.9f, true}, {0.8f, false}, {0.7f, true}};
  EXPECT_NEAR(*average_precision(list), (1.0 + 2.0 / 3 + 3.0 / 4) / 3, 1e-15);
  std::vector<Scored> perfect = {{2, true}, {1, false}}, worst = {{1, true}, {2, false}};
  EXPECT_EQ(average_precision(perfect), 1.0);
  EXPECT_EQ(average_precision(worst), 0.5);
}

TEST(AveragePrecision, AgreesWithBruteForceAlsoWithTies) {
  for (std::uint64_t round = 0; round < 50; ++round) {
    data::Random random(1, round);
    std::vector<Scored> list(1 + random.below(200));
    const std::uint64_t scores = 1 + random.below(300);  // few: many ties
    for (Scored& one : list) one = {static_cast<float>(random.below(scores)) - 50, random.below(3) == 0};
    list[0].holds = true;
    const double expected = by_brute_force(list);
    EXPECT_NEAR(*average_precision(list), expected, 1e-12) << round;
  }
}

TEST(AveragePrecision, DoesNotDependOnTheOrderNotEvenInItsLastBit) {
  data::Random random(2);
  std::vector<Scored> list(500);
  for (Scored& one : list) one = {static_cast<float>(random.below(40)), random.below(2) == 0};
  auto other = list;
  for (std::size_t i = other.size() - 1; i > 0; --i) std::swap(other[i], other[random.below(i + 1)]);
  EXPECT_EQ(*average_precision(list), *average_precision(other));
}

TEST(AveragePrecision, WithoutPositivesThereIsNone) {
  std::vector<Scored> list = {{1, false}, {2, false}};
  EXPECT_FALSE(average_precision(list));
  EXPECT_FALSE(average_precision({}));
}

TEST(AveragePrecision, WhatIsNoNumberCountsAgainst) {
  std::vector<Scored> list = {{std::nanf(""), true}, {std::nanf(""), false}, {3, false}, {2, true}};
  std::vector<Scored> same = {{-100, true}, {100, false}, {3, false}, {2, true}};
  EXPECT_EQ(average_precision(list), average_precision(same));
}

TEST(MeanAveragePrecision, LeavesOutClassesThatNoSampleHas) {
  const std::vector<float> scores = {3, 1, 0, /**/ 2, 2, 0, /**/ 1, 3, 0};
  const std::vector<std::uint8_t> flags = {1, 1, 0, /**/ 0, 0, 0, /**/ 1, 0, 0};
  const AveragePrecision found = mean_average_precision(scores, flags, 3);
  ASSERT_EQ(found.classes.size(), 3u);
  EXPECT_NEAR(*found.classes[0], (1 + 2.0 / 3) / 2, 1e-15);
  EXPECT_NEAR(*found.classes[1], 1.0 / 3, 1e-15);
  EXPECT_FALSE(found.classes[2]);
  EXPECT_NEAR(found.mean.macro, ((1 + 2.0 / 3) / 2 + 1.0 / 3) / 2, 1e-15);
  std::vector<Scored> together;
  for (std::size_t i = 0; i < scores.size(); ++i) together.push_back({scores[i], flags[i] != 0});
  EXPECT_NEAR(found.mean.micro, by_brute_force(together), 1e-15);
  EXPECT_EQ(mean_average_precision({}, {}, 3).mean, Average{}) << "of nothing";
}

}  // namespace
}  // namespace ronde::train
