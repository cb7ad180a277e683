#include <cmath>

#include <gtest/gtest.h>

#include "ronde/tune/schedulers/scheduler.h"

namespace ronde::tune {
namespace {

using Kind = Decision::Kind;

std::unique_ptr<Scheduler> made(Json options) {
  options["grace_period"] = 2;
  auto scheduler = make_scheduler(find_scheduler("median"), {.options = options});
  Json config;
  for (int i = 0; i < 4; ++i) scheduler->on_add(i, config);
  return scheduler;
}

// Trials 0 to 2 run to 5 with means of 1, 2 and 3 from the grace period on.
void run_others(Scheduler& scheduler) {
  for (int trial = 0; trial < 3; ++trial)
    for (double time = 1; time <= 5; ++time)
      scheduler.on_report({.trial = trial, .time = time, .score = time < 2 ? 100.0 : 1.0 + trial});
}

TEST(MedianStopping, ComparesTheBestWithTheMedianOfMeans) {
  const auto scheduler = made({});
  run_others(*scheduler);
  EXPECT_EQ(scheduler->on_report({.trial = 3, .time = 1, .score = 0}).kind, Kind::Continue) << "in the grace period";
  EXPECT_EQ(scheduler->on_report({.trial = 3, .time = 2, .score = 2}).kind, Kind::Continue) << "as good as the median";
  EXPECT_EQ(scheduler->on_report({.trial = 3, .time = 3, .score = 0}).kind, Kind::Continue) << "its best counts";
  const auto other = made({});
  run_others(*other);
  EXPECT_EQ(other->on_report({.trial = 3, .time = 3, .score = 1.9}).kind, Kind::Stop);
}

TEST(MedianStopping, WaitsForEnoughOthers) {
  const auto scheduler = made({{"min_samples_required", 4}, {"min_time_slice", 10}});
  run_others(*scheduler);
  EXPECT_EQ(scheduler->on_report({.trial = 3, .time = 3, .score = 0}).kind, Kind::Continue);
}

TEST(MedianStopping, MayPauseInsteadAndLetsItRunOnThen) {
  const auto scheduler = made({{"hard_stop", false}});
  run_others(*scheduler);
  EXPECT_EQ(scheduler->on_report({.trial = 3, .time = 3, .score = 0}).kind, Kind::Pause);
  const std::vector<int> paused = {3};
  EXPECT_EQ(scheduler->resume(paused, false, 0), std::nullopt);
  EXPECT_EQ(scheduler->resume(paused, true, 0), 3);
  EXPECT_EQ(scheduler->on_report({.trial = 3, .time = 4, .score = 0}).kind, Kind::Continue) << "unjudged to its end";
}

TEST(Percentile, IsThatOfNumpy) {
  EXPECT_EQ(percentile({1, 2, 3, 4}, 75), 3.25);
  EXPECT_EQ(percentile({5}, 10), 5);
  EXPECT_EQ(percentile({2, NAN, 1}, 50), 1.5);
  EXPECT_EQ(percentile({}, 50), std::nullopt);
}

}  // namespace
}  // namespace ronde::tune
