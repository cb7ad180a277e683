#include "ronde/report/compute/efficiency.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "ronde/report/run/replay.h"
#include "ronde/report/testing/expect_products.h"
#include "ronde/report/testing/make_run.h"

namespace ronde::report {
namespace {

using testing::MakeRun;

double factor(const Efficiency& all, std::string_view key) {
  return all.parallel.find(key)->value;
}

// One step of two ranks. Rank 0 works 60 and asks at 60; rank 1 waits 10 for input, works 80 and asks at 90. Moving
// takes 20 after the last has asked, so both go on at 110 with 10 of work more.
//
//   rank 0  |------60------|...wait 50...|-10-|
//   rank 1  |input 10|-----80------|.20..|-10-|
trace::Run two_ranks() {
  MakeRun make(2);
  make.step(0, 1, 0, 120);
  make.span(0, "training", "forward", 0, 60);
  make.collective(0, 60, 65, 110, 4096, 0);
  make.span(0, "training", "wait for communication", 60, 110);
  make.span(0, "training", "optimizer", 110, 120);
  make.step(1, 1, 0, 120);
  make.span(1, "training", "wait for input", 0, 10);
  make.span(1, "training", "forward", 10, 90);
  make.collective(1, 90, 90, 110, 4096, 0);
  make.span(1, "training", "wait for communication", 90, 110);
  make.span(1, "training", "optimizer", 110, 120);
  return make.take();
}

TEST(Replay, WithAllItsCostsIsTheRun) {
  const trace::Run run = two_ranks();
  const Window window = window_of(run);
  EXPECT_EQ(replay(run, window, {}).end_ns, (std::vector<std::int64_t>{120, 120}));
  // Without input, rank 1 asks at 80.
  EXPECT_EQ(replay(run, window, {.network = true, .input = false}).time_ns, 110);
  EXPECT_EQ(replay(run, window, {.network = false, .input = true}).time_ns, 100);
  EXPECT_EQ(replay(run, window, {.network = false, .input = false}).time_ns, 90);
}

TEST(Efficiency, IsWhatIsComputedByHand) {
  const trace::Run run = two_ranks();
  const Efficiency all = efficiency_of(run, window_of(run));
  // U = 70, 90; T = 120; without input 110; ideal 90.
  EXPECT_NEAR(factor(all, "parallel"), 80.0 / 120, 1e-9);
  EXPECT_NEAR(factor(all, "load_balance"), 80.0 / 90, 1e-9);
  EXPECT_NEAR(factor(all, "communication"), 90.0 / 110, 1e-9);
  EXPECT_NEAR(factor(all, "serialisation"), 90.0 / 90, 1e-9);
  EXPECT_NEAR(factor(all, "transfer"), 90.0 / 110, 1e-9);
  EXPECT_NEAR(factor(all, "input"), 110.0 / 120, 1e-9);
  testing::expect_products(all.parallel, 1e-9);
  EXPECT_FALSE(all.device);
}

// Ranks take turns at being the slow one: each has as much to do, and they wait all the same.
//   step 1: rank 0 works 100, rank 1 works 50; step 2: the other way round; moving costs nothing.
TEST(Efficiency, OfRanksThatTakeTurnsIsLostToSerialisation) {
  MakeRun make(2);
  for (int rank = 0; rank < 2; ++rank)
    for (int step = 0; step < 2; ++step) {
      const std::int64_t begin = 100 * step, work = rank == step ? 100 : 50;
      make.step(rank, step, begin, begin + 100);
      make.span(rank, "training", "forward", begin, begin + work);
      make.collective(rank, begin + work, begin + work, begin + 100, 8, static_cast<std::uint64_t>(step));
      if (work < 100) make.span(rank, "training", "wait for communication", begin + work, begin + 100);
    }
  const trace::Run run = make.take();
  const Efficiency all = efficiency_of(run, window_of(run));
  EXPECT_NEAR(factor(all, "parallel"), 0.75, 1e-9);
  EXPECT_NEAR(factor(all, "load_balance"), 1, 1e-9);
  EXPECT_NEAR(factor(all, "serialisation"), 0.75, 1e-9);
  EXPECT_NEAR(factor(all, "transfer"), 1, 1e-9);
  testing::expect_products(all.parallel, 1e-9);
}

// Two buckets of one rank pair: the second waits for the first. Hidden behind work, transfer costs nothing.
TEST(Efficiency, DoesNotCountWhatIsHidden) {
  MakeRun make(2);
  for (int rank = 0; rank < 2; ++rank) {
    make.step(rank, 0, 0, 100);
    make.span(rank, "training", "backward", 0, 100);
    make.collective(rank, 20, 20, 50, 8, 0);
    make.collective(rank, 30, 50, 90, 8, 1);
  }
  const trace::Run run = make.take();
  const Efficiency all = efficiency_of(run, window_of(run));
  EXPECT_NEAR(factor(all, "parallel"), 1, 1e-9);
  EXPECT_NEAR(factor(all, "transfer"), 1, 1e-9);
}

// Whatever the schedule: replaying it with all its costs gives its times, products hold, and no factor is above 1.
TEST(Efficiency, HoldsForAnySchedule) {
  std::mt19937 random(7);
  const auto pick = [&](int most) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(most)); };
  for (int round = 0; round < 200; ++round) {
    const int ranks = 1 + static_cast<int>(pick(4));
    MakeRun make(ranks);
    std::vector<std::int64_t> now(static_cast<std::size_t>(ranks));
    for (auto& time : now) time = pick(20);
    std::vector<std::int64_t> free(now.size(), 0);
    for (int step = 0; step < 5; ++step) {
      std::vector<std::int64_t> asked(now.size()), begin = now;
      for (std::size_t i = 0; i < now.size(); ++i) {
        const int rank = static_cast<int>(i);
        const std::int64_t input = pick(3) == 0 ? pick(40) : 0;
        make.span(rank, "training", "wait for input", now[i], now[i] + input);
        const std::int64_t work = 10 + pick(100);
        make.span(rank, "training", "forward", now[i] + input, now[i] + input + work);
        now[i] += input + work;
        asked[i] = now[i] - pick(9);
      }
      const std::int64_t all = *std::ranges::max_element(asked);
      for (std::size_t i = 0; i < now.size(); ++i) {
        const int rank = static_cast<int>(i);
        const std::int64_t done = std::max(all, free[i]) + pick(50);
        free[i] = done;
        make.collective(rank, asked[i], asked[i], done, 64, static_cast<std::uint64_t>(step));
        const std::int64_t until = std::max(now[i], done) + pick(3);
        make.span(rank, "training", "wait for communication", now[i], until);
        make.step(rank, step, begin[i], until);
        now[i] = until;
      }
    }
    const trace::Run run = make.take();
    const Window window = window_of(run);
    const Replayed same = replay(run, window, {});
    for (std::size_t i = 0; i < now.size(); ++i) EXPECT_EQ(same.end_ns[i], now[i] - window.time.begin) << round;
    const Efficiency efficiency = efficiency_of(run, window);
    testing::expect_products(efficiency.parallel, 1e-9);
    for (const char* key : {"parallel", "load_balance", "communication", "serialisation", "transfer", "input"})
      EXPECT_LE(factor(efficiency, key), 1 + 1e-12) << key << " in round " << round;
  }
}

// Rank 0's device computes 60 of 100, waits 30 in a collective and is idle for 10; rank 1's computes 80 and copies 10.
TEST(DeviceEfficiency, DoesNotCountCollectivesAsUseful) {
  MakeRun make(2);
  for (int rank = 0; rank < 2; ++rank) {
    make.step(rank, 0, 0, 100);
    make.span(rank, "training", "forward", 0, 100);
  }
  make.span(0, "gpu 0 stream 7", "gemm", 0, 60, "kernel");
  make.span(0, "gpu 0 stream 9", "ncclAllReduce", 50, 90, "collective");
  make.span(1, "gpu 1 stream 7", "gemm", 10, 90, "kernel");
  make.span(1, "gpu 1 stream 8", "to device", 0, 10, "copy");
  const trace::Run run = make.take();
  const auto tree = efficiency_of(run, window_of(run)).device;
  ASSERT_TRUE(tree);
  EXPECT_NEAR(tree->value, 0.70, 1e-9);
  EXPECT_NEAR(tree->find("device_load_balance")->value, 70.0 / 80, 1e-9);
  EXPECT_NEAR(tree->find("device_communication")->value, 80.0 / 90, 1e-9);
  EXPECT_NEAR(tree->find("orchestration")->value, 0.90, 1e-9);
  testing::expect_products(*tree, 1e-9);
}

}  // namespace
}  // namespace ronde::report
