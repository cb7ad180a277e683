#include <atomic>
#include <barrier>
#include <chrono>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/comm/interruptible.h"
#include "ronde/comm/testing/ranks.h"

// Who works, and who sleeps, while the program waits. Everything here is counted, nothing timed.
namespace ronde::comm {
namespace {

using namespace std::chrono_literals;
using tests::run_watched;

// The engine's thread does not wake to look for stalls either.
EngineOptions quiet() {
  EngineOptions options;
  options.stall_warn = 1h;
  return options;
}

void call(Engine& engine, const char* name, std::vector<float>& values) {
  engine.world().run({.name = name, .input = buffer_of(values)});
}

// Until a plan stands and the engine's threads of all ranks sleep.
void settle(Engine& engine, std::barrier<>& together, const char* name, std::vector<float>& values) {
  for (int i = 0; i < 10; ++i) call(engine, name, values);
  together.arrive_and_wait();
  std::this_thread::sleep_for(100ms);
  together.arrive_and_wait();
}

class EngineWaits : public testing::TestWithParam<int> {};

TEST_P(EngineWaits, CallsByNameLeaveTheEnginesThreadAsleep) {
  const int calls = tests::kSanitized ? 1000 : 10'000;
  std::barrier together(GetParam());
  run_watched(
      GetParam(),
      [&](Engine& engine) {
        const auto count = [&](const char* name, std::vector<float> values, int times) {
          settle(engine, together, name, values);  // another name is another plan, which all must hear of
          const Statistics before = engine.statistics();
          together.arrive_and_wait();
          for (int i = 0; i < times; ++i) call(engine, name, values);
          const Statistics after = engine.statistics();
          EXPECT_EQ(after.wake_ups, before.wake_ups) << name;
          EXPECT_EQ(after.requests - before.requests, static_cast<std::uint64_t>(times));
          together.arrive_and_wait();  // who leaves wakes the others
        };
        count("small", std::vector<float>(4), calls);
        count("large, moved by the caller too", std::vector<float>(256 << 10), 50);
      },
      quiet());
}

TEST_P(EngineWaits, ACallSleepsByItselfUntilTheLastRankComes) {
  std::barrier together(GetParam());
  run_watched(
      GetParam(),
      [&](Engine& engine) {
        std::vector<float> values(4);
        settle(engine, together, "values", values);
        const Statistics before = engine.statistics();
        together.arrive_and_wait();
        const bool late = engine.rank() + 1 == engine.size();
        for (int i = 0; i < 5; ++i) {
          if (late) std::this_thread::sleep_for(20ms);
          call(engine, "values", values);
        }
        const Statistics after = engine.statistics();
        EXPECT_EQ(after.wake_ups, before.wake_ups);
        if (!late) {
          EXPECT_GE(after.caller_wake_ups - before.caller_wake_ups, 5u) << "20 ms are too long to spin";
        }
        together.arrive_and_wait();
      },
      quiet());
}

INSTANTIATE_TEST_SUITE_P(All, EngineWaits, testing::Values(2, 3, 4), tests::ranks_name);

// One thread waits for what comes late, and others go on.
TEST(EngineWaiting, OtherThreadsCallWhileOneSleeps) {
  run_watched(2, [](Engine& engine) {
    std::vector<float> late(4, 1.0f), now(4);
    std::vector<std::jthread> threads;
    if (engine.rank() == 0) threads.emplace_back([&] { call(engine, "late", late); });
    for (int i = 0; i < 300; ++i) call(engine, "now", now);
    for (int i = 0; i < 300; ++i) {
      const Handle handle = engine.world().allreduce("now", buffer_of(now));
      while (!handle.poll()) std::this_thread::yield();
    }
    if (engine.rank() == 1) call(engine, "late", late);
    threads.clear();
    EXPECT_EQ(late, std::vector<float>(4, 2.0f));
  });
}

TEST(EngineWaiting, TwoThreadsWaitAndTheFirstLeaves) {
  run_watched(2, [](Engine& engine) {
    std::vector<float> first(4, 1.0f), second(4, 1.0f);
    if (engine.rank() == 0) {
      std::jthread one([&] { call(engine, "first", first); });
      std::jthread two([&] { call(engine, "second", second); });
    } else {
      std::this_thread::sleep_for(20ms);
      call(engine, "first", first);
      std::this_thread::sleep_for(20ms);
      call(engine, "second", second);
    }
    EXPECT_EQ(first, std::vector<float>(4, 2.0f));
    EXPECT_EQ(second, std::vector<float>(4, 2.0f));
  });
}

// The request goes on; nobody of the program waits for it any more.
TEST(EngineWaiting, AnInterruptedCallLeavesItsRequestToTheEnginesThread) {
  struct Stopped {};
  std::latch interrupted(1), done(2);
  run_watched(2, [&](Engine& engine) {
    std::vector<float> values(4, 1.0f);
    if (engine.rank() == 0) {
      std::atomic<int> asked = 0;
      const Interruptible interruptible([&] {
        if (++asked == 2) throw Stopped();
      });
      EXPECT_THROW(call(engine, "values", values), Stopped);
      interrupted.count_down();
    } else {
      interrupted.wait();
      call(engine, "values", values);
      EXPECT_EQ(values, std::vector<float>(4, 2.0f));
    }
    done.arrive_and_wait();
  });
}

TEST(EngineWaiting, ShuttingDownEndsACallThatSleeps) {
  std::latch over(2);
  run_watched(2, [&](Engine& engine) {
    if (engine.rank() == 0) {
      std::vector<float> values(4);
      std::jthread caller([&] { EXPECT_THROW(call(engine, "never", values), Error); });
      std::this_thread::sleep_for(50ms);
      engine.shutdown();
    }
    over.arrive_and_wait();
  });
}

}  // namespace
}  // namespace ronde::comm
