#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/text/format.h"
#include "ronde/comm/testing/failures.h"
#include "ronde/comm/testing/ranks.h"

// Ranks that have done their part leave; what they have sent still arrives.
namespace ronde::comm {
namespace {

using tests::failure_of;
using namespace std::chrono_literals;

constexpr auto kSlow = 100ms;

// The engines of a job whose rank 0 is slow: each step of its link begins late.
std::vector<std::unique_ptr<Engine>> with_a_slow_rank(detail::HookedJob& job) {
  job.set_hooks(0, {.link_delay = kSlow});
  std::vector<std::future<std::unique_ptr<Engine>>> coming;
  for (int rank = 0; rank < job.size(); ++rank)
    coming.push_back(std::async(std::launch::async, [&job, rank] { return job.engine(rank); }));
  std::vector<std::unique_ptr<Engine>> engines;
  for (auto& engine : coming) engines.push_back(engine.get());
  return engines;
}

class EngineLeave : public testing::TestWithParam<int> {};  // nodes

// Ranks that a rank sends to at different rates: the counts of one must not be taken for those of another.
TEST_P(EngineLeave, WhatARankSentToSeveralArrives) {
  const tests::Watchdog watchdog(3min, tests::current_test());
  detail::HookedJob job(3, GetParam());
  auto engines = with_a_slow_rank(job);
  std::vector<float> from(10, 7.0f), to(10, 0.0f), other(10, 0.0f);
  constexpr int kMany = 4;
  for (int i = 0; i < kMany; ++i) {
    const std::string name = fmt::format("many {}", i);
    const Handle received = engines[0]->world().receive(name, buffer_of(to), 2);
    engines[2]->world().send(name, buffer_of(from), 0).wait();
    received.wait();
  }
  const Handle one = engines[1]->world().receive("one", buffer_of(other), 2);
  engines[2]->world().send("one", buffer_of(from), 1).wait();
  one.wait();

  std::vector<float> last(10, 0.0f);
  const Handle received = engines[0]->world().receive("last", buffer_of(last), 2);
  engines[2]->world().send("last", buffer_of(from), 0).wait();
  engines[2]->shutdown();
  const std::optional<Error> error = failure_of(received);
  EXPECT_FALSE(error.has_value()) << error->what();
  EXPECT_EQ(last, from);
}

// What the one that has left did not take part in fails, and so does all that needs it; not what two others send to
// each other.
TEST_P(EngineLeave, OthersStillSendToEachOther) {
  const tests::Watchdog watchdog(3min, tests::current_test());
  detail::HookedJob job(3, GetParam());
  auto engines = with_a_slow_rank(job);
  std::vector<float> mine(10, 1.0f), from(10, 7.0f), to(10, 0.0f);
  const Handle all = engines[0]->world().allreduce("all", buffer_of(mine));
  engines[2]->shutdown();
  ASSERT_TRUE(failure_of(all).has_value());
  EXPECT_TRUE(failure_of(engines[0]->world(), mine).has_value());
  const Handle received = engines[1]->world().receive("one", buffer_of(to), 0);
  const Handle sent = engines[0]->world().send("one", buffer_of(from), 1);
  for (const Handle& handle : {sent, received}) {
    const std::optional<Error> error = failure_of(handle);
    EXPECT_FALSE(error.has_value()) << error->what();
  }
  EXPECT_EQ(to, from);
}

// The others end while rank 1 is stopped, as by a debugger or on a busy machine, for longer than they wait for
// anything.
TEST(EngineLeaving, ARankThatIsStoppedMeanwhileGetsAll) {
  constexpr int kLast = 4;  // in the first three, clocks are compared: nobody is done before the others
  const tests::Watchdog watchdog(3min, tests::current_test());
  detail::HookedJob job(4, 4);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < job.size(); ++rank)
    threads.emplace_back([&job, rank] {
      std::atomic<int> moves = 0;
      const auto on_phase = [&](Phase phase) {  // called by whoever carries its engine's work
        if (rank == 1 && phase == Phase::Reducing && ++moves == kLast) std::this_thread::sleep_for(3s);
      };
      job.set_hooks(rank, {.on_phase = on_phase});
      const auto engine = job.engine(rank);
      for (int i = 1; i <= kLast; ++i) {
        std::vector<float> values(20'000, rank == 2 ? 7.0f : 0.0f);
        const std::optional<Error> error =
            failure_of(engine->world().broadcast(std::to_string(i), buffer_of(values), 2));
        EXPECT_FALSE(error.has_value()) << error->what();
        EXPECT_EQ(values, std::vector<float>(20'000, 7.0f));
      }
    });
}

INSTANTIATE_TEST_SUITE_P(Nodes, EngineLeave, testing::Values(1, 2, 3));

}  // namespace
}  // namespace ronde::comm
