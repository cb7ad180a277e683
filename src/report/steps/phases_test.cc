#include "ronde/report/steps/phases.h"

#include <cmath>

#include <gtest/gtest.h>

#include "ronde/report/json/json_parts.h"
#include "ronde/report/testing/make_run.h"

namespace ronde::report {
namespace {

using testing::MakeRun;

constexpr std::int64_t kMs = 1'000'000;

const Phase& phase(const Phases& phases, PhaseKind kind) {
  const Phase* found = phases.find(kind);
  EXPECT_NE(found, nullptr) << name(kind);
  static const Phase kNone;
  return found ? *found : kNone;
}

// Two ranks start up for 100 ms, the second of which waits for 40 ms of it; train for two steps of 100 ms, in the
// second of which rank 1 waits for 20 ms; then rank 0 tests for 150 ms and saves for 50 ms, and rank 1 waits.
trace::Run two_ranks() {
  MakeRun make(2);
  for (int rank = 0; rank < 2; ++rank) {
    make.step(rank, 0, 100 * kMs, 200 * kMs);
    make.step(rank, 1, 200 * kMs, 300 * kMs);
    make.span(rank, "training", "forward", 100 * kMs, 300 * kMs);
  }
  make.span(0, "training", "load", 0, 100 * kMs);
  make.span(1, "training", "wait for communication", 0, 40 * kMs);
  make.span(1, "training", "wait for communication", 280 * kMs, 300 * kMs);
  make.span(0, "training", "evaluate", 300 * kMs, 450 * kMs);
  make.span(0, "training", "forward", 310 * kMs, 440 * kMs);
  make.span(0, "training", "checkpoint copy", 450 * kMs, 500 * kMs);
  make.span(1, "training", "wait for communication", 300 * kMs, 500 * kMs);
  return make.take();
}

TEST(Phases, AddUpToTheRun) {
  const trace::Run run = two_ranks();
  const Phases phases = phases_of(run, window_of(run));
  EXPECT_DOUBLE_EQ(phases.seconds, 0.5);
  double sum = 0, shares = 0;
  for (const Phase& one : phases.phases) sum += one.seconds, shares += one.share;
  EXPECT_NEAR(sum, 0.5, 1e-12);
  EXPECT_NEAR(shares, 1, 1e-12);
  // 0 to 40 only rank 0 is at work, and loads; 40 to 100 one loads and one starts up, and start-up comes first.
  EXPECT_NEAR(phase(phases, PhaseKind::Loading).seconds, 0.04, 1e-12);
  EXPECT_NEAR(phase(phases, PhaseKind::StartUp).seconds, 0.06, 1e-12);
  EXPECT_NEAR(phase(phases, PhaseKind::Training).seconds, 0.2, 1e-12);
  EXPECT_NEAR(phase(phases, PhaseKind::Testing).seconds, 0.15, 1e-12);
  EXPECT_NEAR(phase(phases, PhaseKind::Testing).share, 0.3, 1e-12);
  EXPECT_NEAR(phase(phases, PhaseKind::Saving).seconds, 0.05, 1e-12);
  // 180 ms of two ranks and 20 ms of one, over 200 ms.
  EXPECT_NEAR(phase(phases, PhaseKind::Training).ranks_busy, 1.9, 1e-12);
  EXPECT_NEAR(phase(phases, PhaseKind::Testing).ranks_busy, 1, 1e-12);
}

TEST(Phases, TellWhatOneRankDoesWhileOthersWait) {
  const trace::Run run = two_ranks();
  const Phases phases = phases_of(run, window_of(run));
  const Sequential& sequential = phases.sequential;
  // load 40, evaluate 150, copy 50; the 20 ms inside a step are a matter of balance.
  EXPECT_NEAR(sequential.share, 240.0 / 500, 1e-12);
  EXPECT_NEAR(sequential.limit, 500.0 / 240, 1e-12);
  ASSERT_EQ(sequential.parts.size(), 3u);
  EXPECT_EQ(sequential.parts[0].name, "evaluate");
  EXPECT_EQ(sequential.parts[0].rank, 0);
  EXPECT_NEAR(sequential.parts[0].seconds, 0.15, 1e-12);
  EXPECT_EQ(sequential.parts[0].phase, PhaseKind::Testing);
  EXPECT_EQ(sequential.parts[0].longest, (TimeRange{300 * kMs, 450 * kMs}));
  EXPECT_EQ(sequential.parts[1].name, "checkpoint copy");
  EXPECT_EQ(sequential.parts[2].name, "load");
  EXPECT_NEAR(phase(phases, PhaseKind::Training).sequential_seconds, 0, 1e-12);
  EXPECT_NEAR(phase(phases, PhaseKind::Testing).sequential_seconds, 0.15, 1e-12);
  EXPECT_NE(sequential.text.find("evaluate on rank 0 (0.15 s)"), std::string::npos) << sequential.text;
}

TEST(Phases, ALimitIsToldWhereItLimits) {
  const auto text_of = [](std::int64_t alone) {
    MakeRun make(2);
    for (int rank = 0; rank < 2; ++rank) make.step(rank, 0, 0, 1000 * kMs - alone);
    make.span(0, "training", "evaluate", 1000 * kMs - alone, 1000 * kMs);
    const trace::Run run = make.take();
    return phases_of(run, window_of(run)).sequential.text;
  };
  EXPECT_NE(text_of(200 * kMs).find("With any number of ranks, the run cannot become more than 5.0 times faster."),
            std::string::npos);
  EXPECT_EQ(text_of(2 * kMs),
            "0.2 % of the run was done by one rank while the others waited: evaluate on rank 0 (0.002 s).");
}

TEST(Phases, ASpanThatOneRankAloneHasInAStepIsSequential) {
  MakeRun make(2);
  for (int rank = 0; rank < 2; ++rank) make.step(rank, 0, 0, 100 * kMs);
  make.span(0, "training", "forward", 0, 60 * kMs);
  make.span(1, "training", "forward", 0, 50 * kMs);
  make.span(0, "training", "write pictures", 60 * kMs, 90 * kMs);
  make.span(1, "training", "wait for communication", 50 * kMs, 90 * kMs);
  const trace::Run run = make.take();
  const Phases phases = phases_of(run, window_of(run));
  ASSERT_EQ(phases.sequential.parts.size(), 1u);
  EXPECT_EQ(phases.sequential.parts[0].name, "write pictures");
  EXPECT_NEAR(phases.sequential.parts[0].seconds, 0.03, 1e-12);
}

TEST(Phases, RanksThatAreThroughWaitToo) {
  MakeRun make(3);
  for (int rank = 0; rank < 3; ++rank) make.step(rank, 0, 0, 100 * kMs);
  make.span(2, "training", "evaluate", 100 * kMs, 200 * kMs);
  // It waits for its own input meanwhile: the others wait for it all the same.
  make.span(2, "training", "wait for input", 120 * kMs, 140 * kMs);
  const trace::Run run = make.take();
  const Phases phases = phases_of(run, window_of(run));
  ASSERT_EQ(phases.sequential.parts.size(), 1u);
  EXPECT_NEAR(phases.sequential.parts[0].seconds, 0.1, 1e-12);
  EXPECT_EQ(phases.sequential.parts[0].rank, 2);
  EXPECT_NEAR(phase(phases, PhaseKind::Testing).ranks_busy, 0.8, 1e-12);
  EXPECT_NEAR(phases.sequential.limit, 2, 1e-12);
}

TEST(Phases, ShortPiecesAndSingleRanksAreNotSequential) {
  MakeRun make(2);
  for (int rank = 0; rank < 2; ++rank) make.step(rank, 0, 0, 100 * kMs);
  make.span(0, "training", "evaluate", 100 * kMs, 101 * kMs - 1);
  const trace::Run run = make.take();
  const Phases phases = phases_of(run, window_of(run));
  EXPECT_TRUE(phases.sequential.parts.empty());
  EXPECT_TRUE(std::isinf(phases.sequential.limit));
  EXPECT_TRUE(to_json(phases.sequential)["limit"].is_null());

  MakeRun one(1);
  one.step(0, 0, 0, 100 * kMs);
  one.span(0, "training", "evaluate", 100 * kMs, 200 * kMs);
  const trace::Run alone = one.take();
  EXPECT_TRUE(phases_of(alone, window_of(alone)).sequential.parts.empty());
}

TEST(Phases, OfSomeStepsHaveNoStartUp) {
  const trace::Run run = two_ranks();
  const Phases phases = phases_of(run, window_of(run, parse_step_window("1..1")));
  EXPECT_EQ(phases.find(PhaseKind::StartUp), nullptr);
  EXPECT_EQ(phases.find(PhaseKind::Loading), nullptr);
  EXPECT_NEAR(phase(phases, PhaseKind::Training).seconds, 0.1, 1e-12);
}

TEST(Phases, HaveTheKeysOfTheReport) {
  const trace::Run run = two_ranks();
  const Phases phases = phases_of(run, window_of(run));
  const auto json = to_json(phases.phases);
  ASSERT_EQ(json.size(), 5u);
  EXPECT_EQ(json[2]["name"], "training");
  for (const char* key : {"seconds", "share", "ranks_busy", "sequential_seconds"}) EXPECT_TRUE(json[2].contains(key));
  const auto sequential = to_json(phases.sequential);
  EXPECT_NEAR(sequential["limit"].get<double>(), 500.0 / 240, 1e-12);
  EXPECT_EQ(sequential["parts"][0]["name"], "evaluate");
}

}  // namespace
}  // namespace ronde::report
