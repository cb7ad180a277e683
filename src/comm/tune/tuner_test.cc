#include "ronde/comm/tune/tuner.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include <gtest/gtest.h>

#include "ronde/base/testing/folder.h"
#include "ronde/comm/tune/tuning_file.h"

namespace ronde::comm::detail {
namespace {

using std::chrono::microseconds;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr Tuning kDefaults{.limits = {.bytes = 64 * kMiB, .first_bytes = kMiB}};

class Tuners : public testing::Test {
 protected:
  TunerOptions options() {
    return {.defaults = kDefaults,
            .algorithms = {"auto", "ring"},
            .ranks = 8,
            .nodes = 2,
            .file = file_,
            .log = Log({.level = LogLevel::Debug, .stream = &told_})};
  }

  // Steps of a program whose time depends on the tuning; returns the tuning at the end.
  Tuning train(Tuner& tuner, int steps, std::size_t bytes, const std::function<int(const Tuning&)>& us) {
    for (int i = 0; i < steps; ++i) {
      now_ += microseconds(us(used_));
      if (const auto next = tuner.step(now_, bytes)) {
        used_ = *next;
        tuner.interrupted();
        now_ += microseconds(70'000);  // changing takes its time
      }
    }
    return used_;
  }
  std::string told() const { return told_.str(); }
  bool tells(const std::string& what) const { return told().find(what) != std::string::npos; }

  const ronde::tests::Folder folder_;
  const std::string file_ = folder_.path() / "tuning.json";
  std::ostringstream told_;
  std::chrono::nanoseconds now_{1};
  Tuning used_ = kDefaults;
};

int small_is_quick(const Tuning& tuning) {
  return 10'000 + (tuning.limits.bytes > 4 * kMiB ? 2'000 : 0) + (tuning.algorithm == 1 ? 0 : 1'000);
}

TEST_F(Tuners, FindTellAndKeepTheBest) {
  Tuner tuner(options());
  const Tuning found = train(tuner, 400, 500 * kMiB, small_is_quick);
  EXPECT_LE(found.limits.bytes, 4 * kMiB);
  EXPECT_EQ(found.algorithm, 1u);
  EXPECT_TRUE(tells("searching for 8 ranks on 2 nodes with 500 MiB per step")) << told();
  EXPECT_TRUE(tells("10 ms per step, 23.1 % less than the 13 ms of the defaults")) << told();
  EXPECT_TRUE(tells("kept in " + file_)) << told();
  const auto records = load_tunings(file_);
  ASSERT_TRUE(records.has_value());
  EXPECT_EQ(records->front().algorithm, "ring");
  EXPECT_EQ(records->front().fusion_bytes, found.limits.bytes);
}

TEST_F(Tuners, StartWithWhatAnEarlierRunHasFound) {
  save_tuning(file_, {.nodes = 2,
                      .ranks = 8,
                      .step_bytes = 500 * kMiB,
                      .fusion_bytes = 3 * kMiB,
                      .first_bucket_bytes = kMiB,
                      .algorithm = "ring"});
  Tuner tuner(options());
  const Tuning found = train(tuner, 1, 500 * kMiB, small_is_quick);
  EXPECT_EQ(found, (Tuning{.limits = {.bytes = 3 * kMiB, .first_bytes = kMiB}, .algorithm = 1}));
  EXPECT_TRUE(tells("buckets of 3 MiB, the first of 1 MiB, algorithm ring, as found by an earlier run")) << told();
  EXPECT_EQ(train(tuner, 300, 500 * kMiB, small_is_quick), found) << "nothing is searched any more";
}

TEST_F(Tuners, AFileOfAnotherShapeIsSaidAndTheSearchGoesOn) {
  save_tuning(file_, {.nodes = 1, .ranks = 4, .step_bytes = kMiB, .algorithm = "auto"});
  Tuner tuner(options());
  train(tuner, 400, 500 * kMiB, small_is_quick);
  EXPECT_TRUE(tells("has results for 4 ranks on 1 node with 1 MiB per step, not for this run")) << told();
  EXPECT_EQ(load_tunings(file_)->size(), 2u);
}

TEST_F(Tuners, GarbageIsSaidAndLeftAlone) {
  std::ofstream(file_) << "garbage";
  Tuner tuner(options());
  train(tuner, 400, 500 * kMiB, small_is_quick);
  EXPECT_TRUE(tells(file_ + " holds no autotune results: not valid JSON; the file is not used")) << told();
  EXPECT_TRUE(tells("not kept: ")) << told();
  EXPECT_LE(used_.limits.bytes, 4 * kMiB);
}

TEST_F(Tuners, AnAlgorithmThatIsNotThereIsSaid) {
  save_tuning(file_, {.nodes = 2, .ranks = 8, .step_bytes = 500 * kMiB, .algorithm = "star"});
  Tuner tuner(options());
  train(tuner, 1, 500 * kMiB, small_is_quick);
  EXPECT_TRUE(tells("names the algorithm 'star', which is not available; available: auto, ring")) << told();
  EXPECT_EQ(used_, kDefaults);
}

TEST_F(Tuners, TheDefaultsStayWhereNothingIsFaster) {
  Tuner tuner(options());
  EXPECT_EQ(train(tuner, 400, 500 * kMiB, [](const Tuning&) { return 9'000; }), kDefaults);
  EXPECT_TRUE(
      tells("the defaults stay, buckets of 64 MiB, the first of 1 MiB, algorithm auto: nothing was clearly "
            "faster than 9 ms per step"))
      << told();
}

// Training and validation in turns: each finds its own best, and goes on where it was.
TEST_F(Tuners, StepsOfAnotherSizeAreAnotherSearch) {
  const auto validation = [](const Tuning& tuning) { return tuning.limits.bytes > 4 * kMiB ? 8'000 : 9'000; };
  Tuner tuner(options());
  for (int epoch = 0; epoch < 8; ++epoch) {
    train(tuner, 60, 500 * kMiB, small_is_quick);
    train(tuner, 40, 80 * kMiB, validation);
  }
  EXPECT_GT(train(tuner, 2, 80 * kMiB, validation).limits.bytes, 4 * kMiB);
  EXPECT_LE(train(tuner, 2, 500 * kMiB, small_is_quick).limits.bytes, 4 * kMiB);
  EXPECT_EQ(load_tunings(file_)->size(), 2u) << told();
}

TEST_F(Tuners, StepsThatKeepChangingHaveTheDefaults) {
  Tuner tuner(options());
  for (std::size_t bytes = 1; bytes < 40; ++bytes) train(tuner, 7, bytes * kMiB, small_is_quick);
  EXPECT_EQ(used_, kDefaults);
  const std::string words = "steps have more than 8 different sizes: further ones use the defaults";
  EXPECT_TRUE(tells(words)) << told();
  EXPECT_EQ(told().find(words), told().rfind(words)) << "once is enough";
}

TEST_F(Tuners, ARunThatEndsTooEarlySaysSo) {
  {
    Tuner tuner(options());
    train(tuner, 10, 500 * kMiB, small_is_quick);
  }
  EXPECT_TRUE(tells("the run ended after ")) << told();
  EXPECT_FALSE(std::filesystem::exists(file_));
}

}  // namespace
}  // namespace ronde::comm::detail
