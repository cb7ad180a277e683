#include "ronde/tune/schedulers/bands.h"

#include <set>

#include <gtest/gtest.h>

namespace ronde::tune {
namespace {

using Kind = Decision::Kind;

TEST(Bands, HaveTheSizesOfThePaper) {
  const BandOptions options;
  ASSERT_EQ(brackets_in_band(options), 5);
  const std::vector<std::pair<std::size_t, double>> expected = {{5, 81}, {8, 27}, {15, 9}, {34, 3}, {81, 1}};
  for (int s = 0; s < 5; ++s) {
    EXPECT_EQ(bracket_of(options, s).size, expected[static_cast<std::size_t>(s)].first);
    EXPECT_EQ(bracket_of(options, s).milestone, expected[static_cast<std::size_t>(s)].second);
  }
}

// Runs trials one after the other to their next pause or end, the score being the trial's number: what is left of a
// bracket, and how far each trial came.
struct BandRun {
  std::map<int, double> time;
  std::set<int> paused, stopped;

  void go(Scheduler& scheduler, int trial, double step = 1) {
    paused.erase(trial);
    for (;;) {
      time[trial] += step;
      const Decision decision = scheduler.on_report({.trial = trial, .time = time[trial], .score = trial * 1.0});
      for (const auto& [other, change] : scheduler.others()) {
        EXPECT_EQ(change.kind, Kind::Stop);
        EXPECT_TRUE(paused.erase(other)) << other;
        stopped.insert(other);
      }
      if (decision.kind == Kind::Pause) paused.insert(trial);
      if (decision.kind == Kind::Stop) stopped.insert(trial);
      if (decision.kind != Kind::Continue) return;
    }
  }

  void all(Scheduler& scheduler) {
    for (;;) {
      const std::vector<int> list(paused.begin(), paused.end());
      const auto next = scheduler.resume(list, true, 0);
      if (!next) return;
      go(scheduler, *next);
    }
  }
};

TEST(Bands, TheBestThirdGoesOnAtEachMilestone) {
  Bands bands({.longest = 9, .eta = 3});  // (3, 9) (5, 3) (9, 1)
  Json config;
  for (int i = 0; i < 17; ++i) bands.on_add(i, config);
  BandRun run;
  for (int i = 0; i < 17; ++i) run.go(bands, i);
  run.all(bands);
  EXPECT_TRUE(run.paused.empty());
  EXPECT_EQ(run.stopped.size(), 17u);
  std::map<double, std::set<int>> reached;
  for (const auto& [trial, time] : run.time) reached[time].insert(trial);
  // Bracket 0: 0 to 2, all to 9. Bracket 1: 3 to 7 to 3, the best two of them (5 / 3 = 2) to 9. Bracket 2: 8 to 16 to
  // 1, 14 to 16 to 3, 16 to 9.
  EXPECT_EQ(reached[9], (std::set<int>{0, 1, 2, 6, 7, 16}));
  EXPECT_EQ(reached[3], (std::set<int>{3, 4, 5, 14, 15}));
  EXPECT_EQ(reached[1], (std::set<int>{8, 9, 10, 11, 12, 13}));
}

TEST(Bands, BohbBeginsWithTheBracketThatHalvesMost) {
  Bands bands({.longest = 9, .eta = 3, .largest_first = true});
  Json config;
  bands.on_add(0, config);
  EXPECT_EQ(bands.on_report({.trial = 0, .time = 1, .score = 1}).kind, Kind::Pause);
  const std::vector<int> paused = {0};
  EXPECT_EQ(bands.resume(paused, false, 1), std::nullopt);
  EXPECT_EQ(bands.resume(paused, false, 0), 0) << "nothing runs: the bracket is halved as it is";
}

TEST(Bands, ATrialThatFailsDoesNotHoldUpItsBracket) {
  Bands bands({.longest = 9, .eta = 3});
  Json config;
  for (int i = 0; i < 3; ++i) bands.on_add(i, config);
  EXPECT_EQ(bands.on_report({.trial = 0, .time = 9, .score = 0}).kind, Kind::Pause);
  EXPECT_EQ(bands.on_report({.trial = 1, .time = 9, .score = 1}).kind, Kind::Pause);
  bands.on_lost(2);
  std::set<int> stopped;
  for (const auto& [trial, decision] : bands.others()) stopped.insert(trial);
  EXPECT_EQ(stopped, (std::set<int>{0, 1}));
}

}  // namespace
}  // namespace ronde::tune
