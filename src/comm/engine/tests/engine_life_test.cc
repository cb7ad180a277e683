#include <algorithm>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/comm/socket_bootstrap.h"
#include "ronde/comm/testing/failures.h"
#include "ronde/comm/testing/ranks.h"
#include "ronde/comm/thread_job.h"

// Engines begin and end.
namespace ronde::comm {
namespace {

using tests::failure_of;
using tests::run_job;
using tests::run_watched;

TEST(EngineLife, ShuttingDownTwiceAndUsingItAfterwards) {
  std::latch submitted(2);
  run_watched(2, [&](Engine& engine) {
    std::vector<float> values(4, 1.0f);
    Handle pending;
    if (engine.rank() == 0) pending = engine.world().allreduce("pending", buffer_of(values));
    submitted.arrive_and_wait();
    engine.shutdown();
    engine.shutdown("a second time");
    if (pending) {
      EXPECT_TRUE(failure_of(pending).has_value());
    }
    EXPECT_THROW(engine.world().allreduce("late", buffer_of(values)), Error);
  });
}

TEST(EngineLife, AHandleOutlivesItsEngine) {
  ThreadJob job(2);
  std::latch submitted(2);
  run_job(job, [&](std::unique_ptr<Engine>& engine) {
    std::vector<float> done(4, 1.0f), pending(4, 1.0f);
    const Handle good = engine->world().allreduce("done", buffer_of(done));
    good.wait();
    const int rank = engine->rank();
    const Handle bad = rank == 0 ? engine->world().allreduce("pending", buffer_of(pending)) : Handle();
    const SharedMemory memory = engine->allocate(1 << 20);
    submitted.arrive_and_wait();
    engine.reset();
    good.wait();
    if (rank == 0) {
      EXPECT_TRUE(failure_of(bad).has_value());
    }
    std::fill(memory.data(), memory.data() + memory.size(), std::byte{1});
  });
}

TEST(EngineLife, TwoJobsInOneProcess) {
  ThreadJob first(2), second(3);
  const auto work = [](std::unique_ptr<Engine>& engine) {
    for (int step = 0; step < 20; ++step) {
      std::vector<float> values(100, 1.0f);
      engine->world().allreduce("values", buffer_of(values)).wait();
      EXPECT_EQ(values, std::vector<float>(100, static_cast<float>(engine->size())));
    }
  };
  std::jthread other([&] { run_job(first, work); });
  run_job(second, work);
}

TEST(EngineLife, WhatOneRankThrowsReachesTheCaller) {
  const auto body = [](Engine& engine) {
    if (engine.rank() == 0) throw Error(Error::Kind::BadInput, "no data for me");
    std::vector<float> values(4, 1.0f);
    EXPECT_TRUE(failure_of(engine.world().allreduce("values", buffer_of(values))).has_value());
  };
  EXPECT_THROW(run_watched(3, body), Error);
}

TEST(EngineLife, OneRankByItselfAgainAndAgain) {
  for (int time = 0; time < 3; ++time) {
    Engine engine(bootstrap_from(Environment({}), Deadline::after(std::chrono::minutes(1))));
    EXPECT_EQ(engine.size(), 1);
    std::vector<float> values(4, 3.0f);
    engine.world().allreduce("values", buffer_of(values), {.op = ReduceOp::Average}).wait();
    EXPECT_EQ(values, std::vector<float>(4, 3.0f));
    engine.shutdown();
  }
}

TEST(EngineLife, RanksMeetAgainAfterTheyHaveLeft) {
  SocketBootstrapServer server(3);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&server, rank] {
      for (int time = 0; time < 3; ++time) {
        Engine engine(connect_bootstrap(server.address(), rank, 3, Deadline::after(std::chrono::minutes(1))));
        std::vector<float> values(4, 1.0f);
        engine.world().allreduce("values", buffer_of(values)).wait();
        EXPECT_EQ(values, std::vector<float>(4, 3.0f));
        engine.world().barrier().wait();
      }
    });
}

}  // namespace
}  // namespace ronde::comm
