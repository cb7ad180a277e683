#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/base/settings/settings.h"

namespace ronde::bench {

// One rank of `ronde run --check`.
struct CheckOptions {
  Environment environment;
  Settings settings;
  // What this build is made of and should be the same everywhere: {"libtorch", "2.13.0"}.
  std::vector<std::pair<std::string, std::string>> versions = {};
  // The user's command: files among its words should be on every node, and the same.
  std::vector<std::string> command = {};
  // When the launcher began, by the clock on its wall.
  std::optional<std::chrono::nanoseconds> begun = {};
};

// Looks at its own node, meets the other ranks, and tries with them what a job will need: right sums, clocks, links
// between nodes. The first rank prints a table, what is wrong, and a verdict. Returns the exit code: 0, or on the first
// rank 1 when something is wrong.
// FAILS WITH: whatever the bootstrap fails with; the first rank's verdict tells what else went wrong.
int check_rank(const CheckOptions& options);

}  // namespace ronde::bench
