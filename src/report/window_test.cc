#include "ronde/report/window.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/report/testing/make_run.h"

namespace ronde::report {
namespace {

using testing::MakeRun;

TEST(Ranges, AreUnitedCutAndCompared) {
  const Ranges a = united({{20, 30}, {0, 10}, {5, 12}, {12, 14}, {40, 40}});
  EXPECT_EQ(a, (Ranges{{0, 14}, {20, 30}}));
  EXPECT_EQ(length(a), 24);
  EXPECT_EQ(within(a, {10, 25}), (Ranges{{10, 14}, {20, 25}}));
  const Ranges b{{5, 22}, {28, 50}};
  EXPECT_EQ(common(a, b), (Ranges{{5, 14}, {20, 22}, {28, 30}}));
  EXPECT_EQ(without(a, b), (Ranges{{0, 5}, {22, 28}}));
  EXPECT_EQ(without({{0, 100}}, {{10, 20}, {30, 40}}), (Ranges{{0, 10}, {20, 30}, {40, 100}}));
}

TEST(Window, GoesFromTheFirstStepToTheEndOfWhatFollowsTheLast) {
  MakeRun make(2);
  for (int rank = 0; rank < 2; ++rank) {
    make.span(rank, "training", "load", 0, 50);
    make.step(rank, 1, 100 + rank, 200);
    make.step(rank, 2, 200, 300 + rank);
  }
  make.span(0, "training", "evaluate", 310, 400);
  const trace::Run run = make.take();
  const Window window = window_of(run);
  EXPECT_EQ(window.time, (TimeRange{100, 400}));
  EXPECT_EQ(window.ranks[1], (TimeRange{101, 301}));
  EXPECT_EQ(window.steps, 2);
  EXPECT_EQ(window.last_step, 2);
  EXPECT_EQ(window_of(run, parse_step_window("1..1")).time, (TimeRange{100, 200}));
  EXPECT_THROW(window_of(run, parse_step_window("7..9")), Error);
}

TEST(Window, OfARunWithoutStepsIsAllOfIt) {
  MakeRun make(1);
  make.span(0, "training", "work", 10, 60);
  EXPECT_EQ(window_of(make.take()).time, (TimeRange{10, 60}));
}

TEST(Waits, ForInputAreNotWaitsForOthers) {
  MakeRun make(1);
  make.span(0, "training", "wait for input", 10, 30);
  make.span(0, "training", "wait for communication", 20, 50);
  const trace::Run run = make.take();
  const Waits waits = waits_of(run, run.ranks[0], {0, 45});
  EXPECT_EQ(waits.input, (Ranges{{10, 30}}));
  EXPECT_EQ(waits.communication, (Ranges{{30, 45}}));
}

}  // namespace
}  // namespace ronde::report
