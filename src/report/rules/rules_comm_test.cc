#include <algorithm>

#include <gtest/gtest.h>

#include "ronde/report/steps/step_buckets.h"
#include "ronde/report/testing/made_training.h"

namespace ronde::report {
namespace {

using testing::made;
using testing::MadeEvidence;
using testing::MakeRun;
using testing::ms;

// 80 ms of work and 20 of moving 4 MB, nothing of which is hidden.
MadeEvidence exposed(double move = 20) {
  MadeEvidence all(made(2, 10, {.work = {80, 80}, .move = move}));
  all.facts.batch = 64;
  return all;
}

TEST(CommunicationRule, WinsWhatAnIdealNetworkWould) {
  MadeEvidence all = exposed();
  const Advice advice = all.only();
  EXPECT_EQ(advice.rule, "communication");
  EXPECT_NEAR(advice.gain, 0.2, 1e-9);
  EXPECT_EQ(advice.setting, "train.compression=bf16");
  EXPECT_NE(advice.evidence.find("would take 800 ms instead of 1 s"), std::string::npos) << advice.evidence;
  ASSERT_TRUE(advice.at);
  EXPECT_NEAR(advice.at->begin, 0.08, 1e-9);
  all.facts.settings["train.compression"] = "f16";
  EXPECT_EQ(all.only().setting, "train.batch=128");
  all.facts.nodes = 2;
  EXPECT_NE(all.only().change.find("comm.autotune"), std::string::npos);
}

TEST(CommunicationRule, TellsLatencyFromBandwidth) {
  MadeEvidence all = exposed();
  all.comm = CollectiveFit{.latency_us = 16'000, .bandwidth_gb_s = 1};  // 16 ms, and 4 ms for 4 MB
  EXPECT_EQ(all.only().setting, "train.batch=128") << "compression would not help";
  EXPECT_NE(all.only().evidence.find("latency"), std::string::npos);
  all.comm = CollectiveFit{.latency_us = 100, .bandwidth_gb_s = 0.2};  // 0.1 ms, and 20 ms
  EXPECT_EQ(all.only().setting, "train.compression=bf16");
}

TEST(CommunicationRule, SaysNothingBelowItsThreshold) {
  EXPECT_TRUE(exposed(4).advice().empty()) << "4 of 84 ms are below 5 %";
  EXPECT_NEAR(exposed(4.5).only().gain, 4.5 / 84.5, 1e-9);
}

// The first gradient of each bucket is there so long before the last.
MadeEvidence late(double delay) {
  MakeRun make = made(2, 10, {.work = {80, 80}, .move = 20});
  trace::Run run = make.take();
  for (trace::RankTrace& rank : run.ranks)
    for (trace::Collective& one : rank.collectives) one.first_arrival = one.arrival - ms(delay);
  return MadeEvidence(std::move(run));
}

TEST(LateBucketRule, HidesWhatCouldHaveStartedEarlier) {
  const Advice advice = late(15).only();
  EXPECT_EQ(advice.rule, "late_bucket") << "and communication only follows from it";
  EXPECT_NEAR(advice.gain, 0.15, 1e-9);
  EXPECT_EQ(advice.setting, "comm.first_bucket_bytes=1MiB");
  EXPECT_NEAR(late(30).only().gain, 0.2, 1e-9) << "no more than what is not hidden";
}

TEST(LateBucketRule, SaysNothingBelowItsThreshold) {
  EXPECT_EQ(late(1.9).only().rule, "communication");
}

TEST(LateBucketRule, CannotHideLatency) {
  MadeEvidence all = late(30);
  all.comm = CollectiveFit{.latency_us = 5'000, .bandwidth_gb_s = 0.3};
  EXPECT_NEAR(all.only().gain, 0.15, 1e-9) << "the last gradient still takes 5 of 20 ms";
  all.comm = CollectiveFit{.latency_us = 19'000, .bandwidth_gb_s = 4};
  EXPECT_EQ(all.only().rule, "communication") << "a link that is slow for any size";
}

TEST(LateBucketRule, LooksAtGradientsOnly) {
  // Beside the bucket of each step, 8 bytes that are asked for after the optimizer began: they took 1 ms.
  MakeRun make = made(2, 10, {.work = {80, 80}, .move = 20, .optimizer = 10});
  for (int rank = 0; rank < 2; ++rank)
    for (int step = 0; step < 10; ++step)
      make.collective(rank, ms(110 * step + 105), ms(110 * step + 105), ms(110 * step + 106), 8,
                      static_cast<std::uint64_t>(100 + step));
  trace::Run run = make.take();
  for (trace::RankTrace& rank : run.ranks) {
    for (trace::Collective& one : rank.collectives)
      if (one.bytes > 8) one.first_arrival = one.arrival - ms(30);
    std::ranges::sort(rank.collectives, {}, [](const trace::Collective& one) { return one.time.begin; });
  }
  const MadeEvidence all(std::move(run));
  const StepBuckets buckets(all.run, all.window, all.steps);
  EXPECT_EQ(buckets.mean_count(), 1);
  EXPECT_NEAR(buckets.latency_seconds(), 0.001, 1e-12);
  EXPECT_EQ(all.only().rule, "late_bucket");
  EXPECT_NEAR(all.only().gain, 19.0 / 110, 1e-9) << "all but the latency of 20 ms";
}

TEST(LateBucketRule, IsNoSymptomOfBucketsThatWaitForTheirGradients) {
  // First bucket: first gradient at 10, last at 20, through at 30; the other one asked for at 80 and through at 100.
  MakeRun make(1);
  make.step(0, 0, 0, ms(110));
  make.span(0, "training", "backward", 0, ms(110));
  make.collective(0, ms(20), ms(20), ms(30), 100, 0);
  make.collective(0, ms(80), ms(80), ms(100), 300, 1);
  trace::Run run = make.take();
  run.ranks[0].collectives[0].first_arrival = ms(10);
  const auto won = [&] {
    const Window window = window_of(run);
    return StepBuckets(run, window, steps_of(run, window)).won_by_early_start(0, 0);
  };
  EXPECT_NEAR(won(), 0, 1e-12);
  // One behind the other: 10 to 40 ready, through at 70 (30 ms); asked for at 60, through at 100 (30 ms). Started at
  // 10 the first is through at 40, and the second at 60 + 30.
  auto& both = run.ranks[0].collectives;
  both[0].arrival = ms(40);
  both[0].time = {ms(40), ms(70)};
  both[1].arrival = both[1].first_arrival = ms(60);
  both[1].time = {ms(70), ms(100)};
  EXPECT_NEAR(won(), 0.01, 1e-12);
  const Window window = window_of(run);
  const StepBuckets buckets(run, window, steps_of(run, window));
  EXPECT_EQ(buckets.mean_count(), 2);
  EXPECT_EQ(buckets.mean_step_bytes(), 400);
  EXPECT_EQ(buckets.median_first_bytes(), 100);
  EXPECT_NEAR(buckets.median_delay(), 0.03, 1e-12);
  EXPECT_NEAR(buckets.median_seconds(), 0.03, 1e-12);
  EXPECT_NEAR(buckets.latency_seconds(), 0.03, 1e-12) << "both are tiny";
}

TEST(OverlapRule, HidesAsMuchAsTheBackwardPassIsLong) {
  MadeEvidence all = exposed();
  all.facts.settings["train.overlap"] = "false";
  const Advice advice = all.only();
  EXPECT_EQ(advice.rule, "no_overlap");
  EXPECT_EQ(advice.setting, "train.overlap=true");
  EXPECT_NEAR(advice.gain, 0.2, 1e-9) << "20 of a backward pass of 40";
  all.facts.settings["train.overlap"] = "true";
  EXPECT_EQ(all.only().rule, "communication");
}

// After 80 ms of work, so many buckets of 100 kB one after the other, each 2 ms.
MadeEvidence buckets(int count) {
  MakeRun make(2);
  const double step_ms = 80 + 2 * count;
  for (int step = 0; step < 10; ++step)
    for (int rank = 0; rank < 2; ++rank) {
      const double begin = step * step_ms;
      make.step(rank, step, ms(begin), ms(begin + step_ms));
      make.span(rank, "training", "backward", ms(begin), ms(begin + 80));
      for (int i = 0; i < count; ++i)
        make.collective(rank, ms(begin + 80), ms(begin + 80 + 2 * i), ms(begin + 82 + 2 * i), 100'000,
                        static_cast<std::uint64_t>(step * count + i));
      make.span(rank, "training", "wait for communication", ms(begin + 80), ms(begin + step_ms));
    }
  return MadeEvidence(make.take());
}

TEST(SmallBucketsRule, WinsTheirLatency) {
  MadeEvidence all = buckets(10);
  const Advice advice = all.only();
  EXPECT_EQ(advice.rule, "small_buckets");
  EXPECT_NEAR(advice.gain, 8 * 2.0 / 100, 1e-9) << "two buckets would do";
  EXPECT_EQ(advice.setting, "comm.autotune=true");
  all.facts.settings["comm.fusion_bytes"] = "128KiB";
  EXPECT_EQ(all.only().setting, "comm.fusion_bytes=64MiB");
  all.comm = CollectiveFit{.latency_us = 1500, .bandwidth_gb_s = 0.2};
  EXPECT_NEAR(all.only().gain, 8 * 1.5 / 100, 1e-9);
  EXPECT_EQ(buckets(3).only().rule, "communication");
}

TEST(SerialisationRule, FindsRanksThatTakeTurns) {
  // Rank 0 works 60 and 20, rank 1 20 and 60, and they meet after each: 80 of work take 120.
  MakeRun make(2);
  for (int step = 0; step < 10; ++step) {
    const double begin = 120 * step;
    const auto sequence = static_cast<std::uint64_t>(2 * step);
    for (int rank = 0; rank < 2; ++rank) {
      const double first = rank == 0 ? 60 : 20, second = 80 - first;
      make.step(rank, step, ms(begin), ms(begin + 120));
      make.span(rank, "training", "forward", ms(begin), ms(begin + first));
      make.collective(rank, ms(begin + first), ms(begin + first), ms(begin + 60), 1000, sequence);
      if (first < 60) make.span(rank, "training", "wait for communication", ms(begin + first), ms(begin + 60));
      make.span(rank, "training", "backward", ms(begin + 60), ms(begin + 60 + second));
      make.collective(rank, ms(begin + 60 + second), ms(begin + 60 + second), ms(begin + 120), 1000, sequence + 1);
      if (second < 60) make.span(rank, "training", "wait for communication", ms(begin + 60 + second), ms(begin + 120));
    }
  }
  MadeEvidence all(make.take());
  const Advice advice = all.only();
  EXPECT_EQ(advice.rule, "serialisation");
  EXPECT_NEAR(advice.gain, 40.0 / 120, 1e-9);
  EXPECT_EQ(advice.setting, "");
  all.facts.settings["model.norm"] = "sync";
  EXPECT_EQ(all.only().setting, "model.norm=batch");
}

}  // namespace
}  // namespace ronde::report
