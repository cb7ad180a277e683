#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/comm/engine/hooked_job.h"
#include "ronde/comm/testing/watchdog.h"

// For tests: ranks as threads, and what GoogleTest needs around them.
namespace ronde::comm::tests {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;  // code runs about ten times slower
#else
inline constexpr bool kSanitized = false;
#endif

// Whatever an issue promises within five seconds, a test waits for four times as long.
inline constexpr std::chrono::seconds kTestTimeout{20};

inline void expect_none(const std::vector<std::string>& problems) {
  for (std::size_t i = 0; i < problems.size() && i < 5; ++i) ADD_FAILURE() << problems[i];
  if (problems.size() > 5) ADD_FAILURE() << "and " << problems.size() - 5 << " more";
}

inline std::string current_test() {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  return std::string(info->test_suite_name()) + "." + info->name();
}

// As run_ranks, but a job that hangs ends the program.
inline void run_watched(int ranks, const std::function<void(Engine&)>& body, const EngineOptions& options = {},
                        const detail::EngineHooks& hooks = {}) {
  const Watchdog watchdog(std::chrono::minutes(3), current_test());
  run_ranks(ranks, body, options, hooks);
}

// Where the ranks of a test are.
struct Place {
  int ranks = 1;
  int nodes = 1;
};
inline std::string name_of(const Place& place) {
  const std::string ranks = std::to_string(place.ranks) + "Ranks";
  return place.nodes == 1 ? ranks : ranks + std::to_string(place.nodes) + "Nodes";
}
inline void PrintTo(const Place& place, std::ostream* out) {
  *out << name_of(place);
}
// For INSTANTIATE_TEST_SUITE_P.
inline std::string place_name(const testing::TestParamInfo<Place>& info) {
  return name_of(info.param);
}
inline std::string ranks_name(const testing::TestParamInfo<int>& info) {
  return name_of({info.param});
}
// One node, and several: as many ranks on each, not as many, and one alone.
inline constexpr std::array kPlaces{Place{1},    Place{2},    Place{3},    Place{4},   Place{8},
                                    Place{2, 2}, Place{3, 2}, Place{4, 2}, Place{7, 3}};

inline void run_watched(const Place& place, const std::function<void(Engine&)>& body, EngineOptions options = {},
                        const detail::EngineHooks& hooks = {}) {
  options.pretend_nodes = place.nodes;
  run_watched(place.ranks, body, options, hooks);
}

}  // namespace ronde::comm::tests
