#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <streambuf>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/system/clock.h"
#include "ronde/comm/testing/call.h"
#include "ronde/comm/testing/failures.h"
#include "ronde/comm/testing/ranks.h"
#include "ronde/comm/thread_job.h"

// Ranks that die, leave or hang, as threads. tests/python/test_engine_failures.py does it to processes.
namespace ronde::comm {
namespace {

using tests::expect_lost;
using tests::failure_of;
using tests::kTestTimeout;
using tests::run_job;
using tests::run_watched;

class EngineFailure : public testing::TestWithParam<tests::Place> {
 protected:
  const tests::Place& place() const { return GetParam(); }
  int ranks() const { return place().ranks; }
  int victim() const { return ranks() - 1; }
};

TEST_P(EngineFailure, WhoWaitsHearsThatARankWasKilled) {
  ThreadJob job(ranks(), place().nodes);
  std::latch submitted(ranks()), over(ranks());
  run_job(job, [&](std::unique_ptr<Engine>& engine) {
    std::vector<float> first(10, 1.0f), second(1'000'000, 1.0f);
    const bool dies = engine->rank() == victim();
    const Handle one = dies ? Handle() : engine->world().allreduce("first", buffer_of(first));
    const Handle two = dies ? Handle() : engine->world().allgather("second", buffer_of(second));
    submitted.arrive_and_wait();
    const auto begin = monotonic_now();
    if (dies) {
      job.kill(victim());
    } else {
      expect_lost(failure_of(one), victim(), begin);
      expect_lost(failure_of(two), victim(), begin);
      EXPECT_TRUE(one.poll());
    }
    over.arrive_and_wait();  // who leaves before would be one more that is lost
    engine->shutdown();
  });
}

TEST_P(EngineFailure, WhatIsSubmittedLaterFailsToo) {
  ThreadJob job(ranks(), place().nodes);
  std::latch all_met(ranks()), over(ranks());
  run_job(job, [&](std::unique_ptr<Engine>& engine) {
    engine->world().barrier().wait();
    all_met.arrive_and_wait();
    const auto begin = monotonic_now();
    if (engine->rank() == victim()) job.kill(victim());
    for (int i = 0; i < 3 && engine->rank() != victim(); ++i) {
      std::vector<float> values(10, 1.0f);
      expect_lost(failure_of(engine->world(), values), victim(), begin);
    }
    over.arrive_and_wait();
  });
}

// They must outlive the engine: who stops in the middle leaves requests on their way.
struct Tensors {
  std::vector<float> large = std::vector<float>(100'000), small = std::vector<float>(10);
};

// Works on and on: a large tensor and a small one each step. Returns why it had to stop.
std::optional<Error> work_until(Engine& engine, Tensors& tensors, const std::atomic<bool>& killed) {
  while (true) {
    try {
      const std::vector<Handle> handles{
          engine.world().allreduce("large", buffer_of(tensors.large)),
          engine.world().allreduce("small", buffer_of(tensors.small), {.op = ReduceOp::Max})};
      for (const Handle& handle : handles)
        while (!handle.poll())
          if (killed) return {};  // nobody knows what a dead rank would see
      for (const Handle& handle : handles) handle.wait();
    } catch (const Error& error) {
      return error;
    }
  }
}

TEST_P(EngineFailure, KilledAtAnyMoment) {
  for (std::uint64_t attempt = 0; attempt < (tests::kSanitized ? 5 : 20); ++attempt) {
    ThreadJob job(ranks(), place().nodes);
    std::latch begun(ranks()), over(ranks());
    std::vector<Tensors> tensors(static_cast<std::size_t>(ranks()));
    std::atomic<std::int64_t> killed_at = 0;
    std::atomic<bool> killed = false, never = false;
    std::jthread killer([&] {
      tests::Random random({attempt, static_cast<std::uint64_t>(ranks())});
      begun.wait();
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(20'000)));
      killed_at = monotonic_now().count();
      job.kill(victim());
      killed = true;
    });
    run_job(job, [&](std::unique_ptr<Engine>& engine) {
      begun.count_down();
      const bool dies = engine->rank() == victim();
      const auto error = work_until(*engine, tensors[static_cast<std::size_t>(engine->rank())], dies ? killed : never);
      if (!dies) expect_lost(error, victim(), std::chrono::nanoseconds(killed_at.load()));
      over.arrive_and_wait();
    });
  }
}

TEST_P(EngineFailure, GroupsWithoutTheDeadRankGoOn) {
  if (ranks() < 3) GTEST_SKIP() << "one rank alone is left";
  ThreadJob job(ranks(), place().nodes);
  std::latch all_met(ranks()), over(ranks());
  run_job(job, [&](std::unique_ptr<Engine>& engine) {
    std::vector<int> alive;
    for (int rank = 0; rank < victim(); ++rank) alive.push_back(rank);
    const Group group = engine->make_group(alive);
    engine->world().barrier().wait();
    all_met.arrive_and_wait();
    if (engine->rank() == victim()) {
      job.kill(victim());
    } else {
      std::vector<float> lost(4, 1.0f);
      expect_lost(failure_of(engine->world(), lost), victim(), monotonic_now());
      for (int step = 0; step < 5; ++step) {
        std::vector<float> values(100, 1.0f);
        group.allreduce("fine", buffer_of(values)).wait();
        EXPECT_EQ(values, std::vector<float>(100, static_cast<float>(victim())));
      }
    }
    over.arrive_and_wait();
  });
}

TEST_P(EngineFailure, WhoLeavesSaysWhy) {
  std::latch over(ranks());
  run_watched(place(), [&](Engine& engine) {
    engine.world().barrier().wait();
    if (engine.rank() == victim()) {
      engine.shutdown("the moon is full");
    } else {
      const auto begin = monotonic_now();
      std::vector<float> values(4, 1.0f);
      const auto error = failure_of(engine.world(), values);
      expect_lost(error, victim(), begin);
      EXPECT_NE(std::string(error->what()).find("the moon is full"), std::string::npos) << error->what();
    }
    over.arrive_and_wait();
  });
}

// The others left after all was done: no reason to fail what was agreed.
TEST_P(EngineFailure, LeavingRightAfterTheLastResultHarmsNobody) {
  for (int repetition = 0; repetition < 20; ++repetition)
    run_watched(place(), [&](Engine& engine) {
      std::vector<float> values(1000, 1.0f);
      engine.world().allreduce("last", buffer_of(values)).wait();
      EXPECT_EQ(values.back(), static_cast<float>(ranks()));
    });
}

// What a log says, to be read while it is written.
class Said : public std::streambuf {
 public:
  bool has(const std::string& word) const {
    const std::scoped_lock lock(mutex_);
    return text_.find(word) != std::string::npos;
  }

 private:
  int overflow(int letter) override {
    const std::scoped_lock lock(mutex_);
    text_ += static_cast<char>(letter);
    return letter;
  }
  mutable std::mutex mutex_;
  std::string text_;
};

TEST_P(EngineFailure, AStallIsReportedAndEndsWell) {
  Said said;
  std::ostream stream(&said);
  const EngineOptions options{.stall_warn = std::chrono::milliseconds(200), .log = Log({.stream = &stream})};
  const auto body = [&](Engine& engine) {
    engine.world().barrier().wait();
    engine.set_step(17);
    const auto begin = monotonic_now();
    while (engine.rank() == victim() && !said.has("gradient") && monotonic_now() - begin < kTestTimeout)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::vector<float> values(4, 1.0f);
    engine.world().allreduce("gradient", buffer_of(values)).wait();
    EXPECT_EQ(values, std::vector<float>(4, static_cast<float>(ranks())));
  };
  run_watched(place(), body, options);
  for (const char* word : {"gradient", "17", "barrier"}) EXPECT_TRUE(said.has(word)) << word;
}

TEST_P(EngineFailure, AStallThatLastsTooLongIsATimeout) {
  std::latch over(ranks());
  run_watched(place(),
              [&](Engine& engine) {
                engine.world().barrier().wait();
                if (engine.rank() != victim()) {
                  const auto begin = monotonic_now();
                  std::vector<float> values(4, 1.0f);
                  const auto error = failure_of(engine.world().allreduce("gradient", buffer_of(values)));
                  ASSERT_TRUE(error.has_value());
                  EXPECT_EQ(name(error->kind()), name(Error::Kind::Timeout)) << error->what();
                  EXPECT_NE(std::string(error->what()).find("gradient"), std::string::npos) << error->what();
                  EXPECT_EQ(error->ranks(), std::vector{victim()}) << error->what();
                  EXPECT_GE(monotonic_now() - begin, std::chrono::milliseconds(400));
                }
                over.arrive_and_wait();
              },
              {.stall_abort = std::chrono::milliseconds(400)});
}

INSTANTIATE_TEST_SUITE_P(All, EngineFailure,
                         testing::Values(tests::Place{2}, tests::Place{3}, tests::Place{4}, tests::Place{2, 2},
                                         tests::Place{3, 2}, tests::Place{4, 2}, tests::Place{5, 3}),
                         tests::place_name);

}  // namespace
}  // namespace ronde::comm
