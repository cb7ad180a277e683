#include "ronde/report/steps/timeline.h"

#include <gtest/gtest.h>

#include "ronde/report/json/json_parts.h"
#include "ronde/report/testing/make_run.h"

namespace ronde::report {
namespace {

using testing::MakeRun;

// Five steps of 100 ns, but the fourth takes 300; two ranks.
trace::Run five_steps() {
  MakeRun make(2);
  for (int rank = 0; rank < 2; ++rank) {
    std::int64_t now = 1000;
    for (int step = 1; step <= 5; ++step) {
      const std::int64_t time = step == 4 ? 300 : 100;
      make.step(rank, step, now, now + time);
      make.span(rank, "training", "forward", now, now + time);
      make.span(rank, "training", "layer1", now + 10, now + 20);
      now += time;
    }
    make.span(rank, "training", "evaluate", now, now + 50);
  }
  return make.take();
}

TEST(Timeline, ShowsATypicalStepTheSlowestAndWhatIsPointedAt) {
  const trace::Run run = five_steps();
  const Window window = window_of(run);
  const StepTable steps = steps_of(run, window);
  const auto pieces = pieces_of(run, window, steps, {{1710, 1720}});
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(pieces[0].title, "step 1, a typical one");
  EXPECT_EQ(pieces[1].title, "step 2");
  EXPECT_EQ(pieces[2].title, "step 4, the slowest");
  EXPECT_EQ(pieces[3].title, "outside steps");
  const auto json = to_json(timeline_of(run, steps, pieces), window);
  ASSERT_EQ(json["lanes"].size(), 2u);
  EXPECT_EQ(json["left_out"], "");
  const auto& spans = json["lanes"][0]["spans"];
  ASSERT_EQ(spans.size(), 7u) << "two of each step, and the evaluation";
  EXPECT_EQ(json["names"][spans[1][0].get<std::size_t>()], "layer1");
  EXPECT_DOUBLE_EQ(spans[1][1], 10e-9);
  EXPECT_DOUBLE_EQ(spans[1][2], 10e-9);
  EXPECT_EQ(spans[1][3], 1);
}

TEST(Timeline, LeavesRanksOutWhenThereAreTooManySpans) {
  const trace::Run run = five_steps();
  const Window window = window_of(run);
  const StepTable steps = steps_of(run, window);
  const auto json = to_json(timeline_of(run, steps, pieces_of(run, window, steps, {}), 8), window);
  EXPECT_EQ(json["lanes"].size(), 1u);
  EXPECT_EQ(json["left_out"], "1 of 2 ranks are shown; 'ronde trace merge' writes a file with all of them");
}

TEST(Timeline, OfARankThatAloneHasTooManySpansShowsTheLongest) {
  MakeRun make(1);
  make.span(0, "training", "work", 0, 900'000);
  for (std::int64_t i = 0; i < 100; ++i) make.span(0, "gpu 0 stream 7", "kernel", 1000 * i, 1000 * i + 500 + i);
  const trace::Run run = make.take();
  const Window window = window_of(run);
  const auto json = to_json(timeline_of(run, {}, pieces_of(run, window, {}, {}), 11), window);
  ASSERT_EQ(json["lanes"].size(), 2u);
  EXPECT_EQ(json["lanes"][0]["spans"].size(), 1u);
  EXPECT_EQ(json["lanes"][1]["spans"].size(), 10u);
  EXPECT_EQ(json["left_out"], "spans shorter than 0.59 us are left out");
}

TEST(Timeline, OfARunWithoutStepsIsAllOfIt) {
  MakeRun make(1);
  make.span(0, "training", "work", 0, 10);
  const trace::Run run = make.take();
  const auto pieces = pieces_of(run, window_of(run), {}, {});
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].title, "whole run");
}

}  // namespace
}  // namespace ronde::report
