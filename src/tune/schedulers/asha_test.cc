#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/tune/schedulers/rungs.h"
#include "ronde/tune/schedulers/scheduler.h"

namespace ronde::tune {
namespace {

using Kind = Decision::Kind;

std::unique_ptr<Scheduler> made(const char* name, const Json& options, std::uint64_t seed = 0) {
  return make_scheduler(find_scheduler(name), {.seed = seed, .options = options});
}

void add(Scheduler& scheduler, int trials) {
  for (int i = 0; i < trials; ++i) {
    Json config = Json::object();
    scheduler.on_add(i, config);
  }
}

TEST(Rungs, HaveTheLastOneToo) {
  EXPECT_EQ(rung_times(1, 100, 4, 0), (std::vector<double>{1, 4, 16, 64}));
  EXPECT_EQ(rung_times(1, 1000, 10, 0), (std::vector<double>{1, 10, 100, 1000}));
  EXPECT_EQ(rung_times(1, 243, 3, 0).back(), 243);
  EXPECT_EQ(rung_times(1, 100, 4, 1), (std::vector<double>{4, 16, 64}));
}

// The rule as the paper and Ray's documentation word it, with plain loops, for one bracket.
class Reference {
 public:
  bool goes_on(int trial, double time, double score) {
    for (const double rung : {64.0, 16.0, 4.0, 1.0}) {
      if (time < rung || seen_[rung].contains(trial)) continue;
      std::vector<double> others;
      for (const auto& [other, value] : seen_[rung]) others.push_back(value);
      std::ranges::sort(others);
      seen_[rung][trial] = score;
      if (others.empty()) return true;
      const double place = 0.75 * static_cast<double>(others.size() - 1);  // numpy's percentile 75
      const auto low = static_cast<std::size_t>(std::floor(place)), high = static_cast<std::size_t>(std::ceil(place));
      return score >= others[low] + (others[high] - others[low]) * (place - std::floor(place));
    }
    return true;
  }

 private:
  std::map<double, std::map<int, double>> seen_;
};

TEST(Asha, DecidesAsTheReferenceOnRandomStreams) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto scheduler = made("asha", Json::object());
    Reference reference;
    Random random(seed);
    constexpr int kTrials = 30;
    add(*scheduler, kTrials);
    std::vector<double> time(kTrials, 0);
    std::vector<int> live(kTrials);
    std::iota(live.begin(), live.end(), 0);
    while (!live.empty()) {
      const int trial = live[random.below(live.size())];
      double& now = time[static_cast<std::size_t>(trial)];
      now += 1 + static_cast<double>(random.below(5));  // rungs are skipped at times
      const double score = random.uniform_double() + trial * 0.02;
      const bool expected = now < 100 && reference.goes_on(trial, now, score);
      const Decision decision = scheduler->on_report({.trial = trial, .time = now, .score = score});
      ASSERT_EQ(decision.kind == Kind::Continue, expected) << "seed " << seed << " trial " << trial << " at " << now;
      if (expected) continue;
      scheduler->on_complete({.trial = trial, .time = now, .score = score});
      reference.goes_on(trial, now, score);
      std::erase(live, trial);
    }
  }
}

TEST(Asha, TheFirstOfARungPassesAndWorseOnesStop) {
  const auto scheduler = made("asha", {{"max_t", 16}, {"reduction_factor", 2}});
  add(*scheduler, 3);
  EXPECT_EQ(scheduler->on_report({.trial = 0, .time = 1, .score = 0.5}).kind, Kind::Continue);
  EXPECT_EQ(scheduler->on_report({.trial = 1, .time = 1, .score = 0.4}).kind, Kind::Stop);
  EXPECT_EQ(scheduler->on_report({.trial = 2, .time = 1, .score = 0.6}).kind, Kind::Continue);
  EXPECT_EQ(scheduler->on_report({.trial = 2, .time = 16, .score = 0.1}).kind, Kind::Stop) << "at max_t all end";
}

TEST(Asha, BracketsWithMoreRungsAreLikelier) {
  const auto scheduler = made("asha", {{"brackets", 3}, {"max_t", 64}}, 11);
  // A trial of bracket 2 is not judged before 16, one of bracket 0 is at 1.
  add(*scheduler, 1000);
  int judged_at_1 = 0;
  for (int i = 0; i < 1000; ++i)
    judged_at_1 += scheduler->on_report({.trial = i, .time = 1, .score = -i * 1.0}).kind == Kind::Stop;
  const double expected = std::exp(4) / (std::exp(4) + std::exp(3) + std::exp(2));
  EXPECT_NEAR(judged_at_1 / 1000.0, expected, 0.05);
}

TEST(Asha, RefusesOptionsThatMakeNoRungs) {
  EXPECT_THROW(made("asha", {{"reduction_factor", 1}}), Error);
  EXPECT_THROW(made("asha", {{"grace_period", 200}}), Error);
  EXPECT_THROW(made("asha", {{"grace", 1}}), Error) << "no such option";
  EXPECT_THROW(made("asha", {{"max_t", "x"}}), Error);
  EXPECT_THROW(find_scheduler("ashaa"), Error);
  EXPECT_EQ(find_scheduler("async_hyperband").name, "asha");
}

TEST(AshaPromotion, PausesAtRungsAndResumesTheBestPart) {
  const auto scheduler = made("asha_promotion", {{"max_t", 9}, {"reduction_factor", 3}});
  add(*scheduler, 6);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(scheduler->on_report({.trial = i, .time = 1, .score = i * 1.0}).kind, Kind::Pause);
  const std::vector<int> three = {0, 1, 2};
  EXPECT_EQ(scheduler->resume(three, false, 0), 2) << "one of three, the best";
  const std::vector<int> two = {0, 1};
  EXPECT_EQ(scheduler->resume(two, false, 1), std::nullopt) << "a new trial starts";
  for (int i = 3; i < 6; ++i) scheduler->on_report({.trial = i, .time = 1, .score = i * 1.0});
  const std::vector<int> five = {0, 1, 3, 4, 5};
  EXPECT_EQ(scheduler->resume(five, false, 1), 5) << "two of six: 5, and 2 which runs";
  const std::vector<int> four = {0, 1, 3, 4};
  EXPECT_EQ(scheduler->resume(four, false, 2), 4) << "the second best of six; 2 is third by now";
  EXPECT_EQ(scheduler->on_report({.trial = 5, .time = 2, .score = 7}).kind, Kind::Continue);
  EXPECT_EQ(scheduler->on_report({.trial = 5, .time = 3, .score = 7}).kind, Kind::Pause);
  EXPECT_EQ(scheduler->on_report({.trial = 2, .time = 9, .score = 7}).kind, Kind::Stop);
}

}  // namespace
}  // namespace ronde::tune
