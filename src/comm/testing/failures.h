#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/system/clock.h"
#include "ronde/comm/testing/ranks.h"
#include "ronde/comm/thread_job.h"

// For tests of what happens when ranks die or leave.
namespace ronde::comm::tests {

// What a request that cannot succeed says; nothing when it did not fail.
inline std::optional<Error> failure_of(const Handle& handle) {
  try {
    handle.wait();
    return {};
  } catch (const Error& error) {
    return error;
  }
}

// The same of an allreduce, which may be refused at once.
inline std::optional<Error> failure_of(const Group& group, std::vector<float>& values) {
  try {
    return failure_of(group.allreduce("weight", buffer_of(values)));
  } catch (const Error& error) {
    return error;
  }
}

inline void expect_lost(const std::optional<Error>& error, int rank, std::chrono::nanoseconds since) {
  ASSERT_TRUE(error.has_value()) << "it did not fail";
  EXPECT_EQ(name(error->kind()), name(Error::Kind::PeerLost)) << error->what();
  EXPECT_NE(std::string(error->what()).find("rank " + std::to_string(rank)), std::string::npos) << error->what();
  EXPECT_EQ(error->ranks(), std::vector{rank}) << error->what();
  EXPECT_LT(monotonic_now() - since, kTestTimeout);
}

// Runs a body on a thread a rank, each with its engine, which it may drop when it likes.
inline void run_job(ThreadJob& job, const std::function<void(std::unique_ptr<Engine>&)>& body,
                    const EngineOptions& options = {}) {
  const Watchdog watchdog(std::chrono::minutes(3), current_test());
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < job.size(); ++rank)
    threads.emplace_back([&, rank] {
      auto engine = job.engine(rank, options);
      body(engine);
    });
}

}  // namespace ronde::comm::tests
