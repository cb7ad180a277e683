#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/comm/testing/watchdog.h"
#include "ronde/comm/thread_job.h"

// For tests: ranks as threads, and what GoogleTest needs around them.
namespace ronde::comm::tests {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;  // code runs about ten times slower
#else
inline constexpr bool kSanitized = false;
#endif

// Whatever an issue promises within five seconds, a test waits for four times as long.
inline constexpr std::chrono::seconds kPatience{20};

inline void expect_none(const std::vector<std::string>& problems) {
  for (std::size_t i = 0; i < problems.size() && i < 5; ++i) ADD_FAILURE() << problems[i];
  if (problems.size() > 5) ADD_FAILURE() << "and " << problems.size() - 5 << " more";
}

inline std::string current_test() {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  return std::string(info->test_suite_name()) + "." + info->name();
}

// As run_ranks, but a job that hangs ends the program.
inline void run_watched(int ranks, const std::function<void(Engine&)>& body, const EngineOptions& options = {}) {
  const Watchdog watchdog(std::chrono::minutes(3), current_test());
  run_ranks(ranks, body, options);
}

// For INSTANTIATE_TEST_SUITE_P over a number of ranks.
inline std::string ranks_name(const testing::TestParamInfo<int>& info) {
  return std::to_string(info.param) + "Ranks";
}

}  // namespace ronde::comm::tests
