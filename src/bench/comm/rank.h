#pragma once

#include <string>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/base/settings/settings.h"

namespace ronde::bench {

// One rank of a benchmark, as `ronde run` starts it.
struct RankOptions {
  Environment environment;
  Settings settings;
  std::vector<int> cpus;    // by rank
  std::string model;        // for the commands about a step; empty: none
  double compute_us = 0.0;  // a step's computation
  int batch = 0;            // train: samples a rank
  std::string variant;      // train: alone, alone_arena, ours or ours_after
};

// Does what the lines on the first rank's standard input ask for, until they end.
// FAILS WITH: whatever the engine fails with; Bug when a result is wrong.
void serve_rank(const RankOptions& options);

// The same for `ronde bench train`.
// FAILS WITH: BadInput in a build without libtorch; as serve_rank().
void serve_train_rank(const RankOptions& options);

}  // namespace ronde::bench
