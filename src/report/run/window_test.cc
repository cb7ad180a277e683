#include "ronde/report/run/window.h"

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

// Ten steps of 100 on each of four ranks.
MakeRun ten_steps() {
  MakeRun make(4);
  for (int rank = 0; rank < 4; ++rank)
    for (std::int64_t step = 0; step < 10; ++step) {
      make.span(rank, "training", "forward", 100 * step, 100 * step + 90);
      make.step(rank, step, 100 * step, 100 * step + 90);
    }
  return make;
}

TEST(WholeSteps, AreAllWhereRecordingsHaveTheirEnd) {
  trace::Run run = ten_steps().take();
  std::vector<std::string> problems;
  EXPECT_EQ(keep_whole_steps(run, {}, problems), StepWindow{});
  EXPECT_EQ(run.ranks.size(), 4u);
  EXPECT_TRUE(problems.empty());
}

TEST(WholeSteps, EndWithTheFirstRankThatWasKilled) {
  MakeRun make = ten_steps();
  make.cut(2, 890);  // in step 8
  make.cut(3, 895);
  trace::Run run = make.take();
  std::vector<std::string> problems;
  EXPECT_EQ(keep_whole_steps(run, parse_step_window("2.."), problems), parse_step_window("2..7"));
  EXPECT_EQ(run.ranks.size(), 4u);
  EXPECT_EQ(problems,
            std::vector<std::string>{"steps up to 7 are analysed, the last one that was recorded completely"});
}

TEST(WholeSteps, ARankThatHasFewIsLeftOut) {
  MakeRun make = ten_steps();
  make.cut(1, 250);
  trace::Run run = make.take();
  std::vector<std::string> problems;
  EXPECT_EQ(keep_whole_steps(run, {}, problems), StepWindow{}) << "30 steps of three ranks, not 8 of four";
  EXPECT_EQ(problems,
            std::vector<std::string>{"rank 1 is left out: its recording ends long before those of the others"});
  ASSERT_EQ(run.ranks.size(), 3u);
  EXPECT_EQ(run.ranks[1].rank, 2);
}

TEST(WholeSteps, OfNoneAllIsLeftAsItIs) {
  MakeRun make(1);
  make.step(0, 0, 0, 100);
  make.cut(0, 100);
  trace::Run run = make.take();
  std::vector<std::string> problems;
  EXPECT_EQ(keep_whole_steps(run, {}, problems), StepWindow{});
  EXPECT_EQ(run.ranks.size(), 1u);
}

}  // namespace
}  // namespace ronde::report
