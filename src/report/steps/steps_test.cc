#include "ronde/report/steps/steps.h"

#include <gtest/gtest.h>

#include "ronde/report/run/job_facts.h"
#include "ronde/report/testing/make_run.h"

namespace ronde::report {
namespace {

using testing::MakeRun;

constexpr double kNs = 1e-9;

// forward 0..40, backward 40..80 with a bucket moving 50..70 and one 75..95, wait 80..95, optimizer 95..105, nothing
// 105..110, input 110..120.
TEST(Steps, AreSplitByWhatTheTrainingThreadWasAt) {
  MakeRun make(1);
  make.step(0, 3, 0, 120);
  make.span(0, "training", "forward", 0, 40);
  make.span(0, "training", "backward", 40, 80);
  make.collective(0, 50, 50, 70, 8, 0);
  make.collective(0, 75, 75, 95, 8, 1);
  make.span(0, "training", "synchronize", 80, 96);
  make.span(0, "training", "wait for communication", 80, 95);
  make.span(0, "training", "optimizer", 96, 105);
  make.span(0, "training", "wait for input", 110, 120);
  const trace::Run run = make.take();
  const StepTable table = steps_of(run, window_of(run));
  ASSERT_EQ(table.numbers, std::vector<std::int64_t>{3});
  const Shares& shares = table.ranks[0].steps[0];
  EXPECT_NEAR(shares.total, 120 * kNs, 1e-15);
  EXPECT_NEAR(shares.compute, 81 * kNs, 1e-15) << "forward, backward and the end of synchronize";
  EXPECT_NEAR(shares.exposed, 15 * kNs, 1e-15);
  EXPECT_NEAR(shares.optimizer, 9 * kNs, 1e-15);
  EXPECT_NEAR(shares.input, 10 * kNs, 1e-15);
  EXPECT_NEAR(shares.idle, 5 * kNs, 1e-15);
  EXPECT_NEAR(shares.moving, 40 * kNs, 1e-15);
  EXPECT_NEAR(shares.hidden, 25 * kNs, 1e-15);
  EXPECT_NEAR(shares.overlap(), 25.0 / 40, 1e-9);
  EXPECT_NEAR(shares.compute + shares.optimizer + shares.exposed + shares.input + shares.idle, shares.total, 1e-15);
}

trace::Run of_three(bool wanders) {
  MakeRun make(3);
  for (int step = 0; step < 12; ++step)
    for (int rank = 0; rank < 3; ++rank) {
      const bool slow = wanders ? rank == step % 3 : rank == 2;
      const std::int64_t begin = 100 * step, work = slow ? 80 : 50;
      make.step(rank, step, begin, begin + 100);
      make.span(rank, "training", "forward", begin, begin + work);
      make.span(rank, "training", "wait for communication", begin + work, begin + 100);
    }
  make.host(2, "node7");
  return make.take();
}

TEST(SlowestRank, IsNamedWhenItIsAlwaysTheSame) {
  const trace::Run run = of_three(false);
  const SlowestRank slow = steps_of(run, window_of(run)).slow;
  EXPECT_EQ(slow.rank, 2);
  EXPECT_TRUE(slow.always);
  EXPECT_NEAR(slow.share_of_steps, 1, 1e-9);
  EXPECT_NEAR(slow.excess, 80.0 / 60 - 1, 1e-9);
  EXPECT_EQ(slow.text,
            "Rank 2 on node7 has the most work in 100 % of the steps, 33 % more than the average: its node is slow, or "
            "its share is larger.");
}

TEST(SlowestRank, IsNobodyWhenItWanders) {
  const trace::Run run = of_three(true);
  const SlowestRank slow = steps_of(run, window_of(run)).slow;
  EXPECT_EQ(slow.rank, -1);
  EXPECT_FALSE(slow.always);
}

TEST(SlowestRank, IsNobodyWhenAllAreAboutAsFast) {
  MakeRun make(2);
  for (std::int64_t step = 0; step < 4; ++step)
    for (int rank = 0; rank < 2; ++rank) {
      make.step(rank, step, step * 1000, step * 1000 + 1000);
      make.span(rank, "training", "forward", step * 1000, step * 1000 + 900 + rank);
      make.span(rank, "training", "wait for communication", step * 1000 + 900 + rank, step * 1000 + 1000);
    }
  const trace::Run run = make.take();
  const SlowestRank slow = steps_of(run, window_of(run)).slow;
  EXPECT_EQ(slow.rank, -1);
  EXPECT_TRUE(slow.always) << "rank 1, but by a thousandth";
  EXPECT_EQ(slow.text, "No rank has much more work than the others.");
}

TEST(JobFacts, AreReadAndWhatMakesNoSenseIsTold) {
  MakeRun make(2);
  make.metadata(0, "job", R"({"network": "mlp", "batch": 64, "settings": {"train.batch": "64"}, "threads": -3})");
  make.metadata(0, "layers", R"([{"name": "fc1", "flops": 1e6}, 7])");
  make.metadata(1, "rank facts", R"({"bound": "0-3", "clock_ghz": 2.5})");
  make.metadata(0, "rank facts", "{");
  make.counter(1, "memory in use", 5, 1e9);
  std::vector<std::string> problems;
  const JobFacts facts = facts_of(make.take(), problems);
  EXPECT_EQ(facts.network, "mlp");
  EXPECT_EQ(facts.batch, 64);
  EXPECT_EQ(facts.threads, 0);
  EXPECT_EQ(facts.settings.at("train.batch"), "64");
  ASSERT_EQ(facts.layers.size(), 1u);
  EXPECT_EQ(facts.layers[0].flops, 1e6);
  EXPECT_EQ(facts.bound.at(1), "0-3");
  EXPECT_EQ(facts.memory_bytes, 1e9);
  EXPECT_EQ(problems, std::vector<std::string>{"cannot read what rank 0 recorded about 'rank facts'"});
}

TEST(JobFacts, MemoryIsTheDevicesWhereThereIsOne) {
  const auto facts_with = [](bool device) {
    MakeRun make(2);
    for (int rank = 0; rank < 2; ++rank) {
      make.metadata(rank, "rank facts", R"({"memory_limit_bytes": 1e12, "device_memory_bytes": 8e10})");
      make.counter(rank, "memory in use", 5, 1e9);
      if (device) make.counter(rank, "device memory in use", 5, 3e9 + rank * 1e9);
    }
    std::vector<std::string> problems;
    return facts_of(make.take(), problems);
  };
  EXPECT_EQ(facts_with(false).memory_bytes, 1e9);
  EXPECT_EQ(facts_with(false).memory_limit_bytes, 1e12);
  EXPECT_EQ(facts_with(true).memory_bytes, 4e9);
  EXPECT_EQ(facts_with(true).memory_limit_bytes, 8e10);
}

TEST(Steps, WaitingForADeviceIsComputing) {
  MakeRun make(1);
  make.step(0, 0, 0, 100);
  make.span(0, "training", "launch step", 0, 10);
  make.span(0, "training", "wait for device", 10, 70);
  make.span(0, "training", "wait for input", 70, 80);
  const trace::Run run = make.take();
  const Window window = window_of(run);
  const Shares shares = steps_of(run, window).ranks.at(0).all;
  EXPECT_NEAR(shares.device, 60e-9, 1e-15);
  EXPECT_NEAR(shares.compute, 70e-9, 1e-15);
  EXPECT_NEAR(shares.input, 10e-9, 1e-15);
  EXPECT_NEAR(shares.idle, 20e-9, 1e-15);
  EXPECT_EQ(waits_of(run, run.ranks[0], window.ranks[0]).device, (Ranges{{10, 70}}));
}

}  // namespace
}  // namespace ronde::report
