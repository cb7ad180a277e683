#pragma once

#include <span>
#include <vector>

#include "ronde/topology/cpu_quota.h"
#include "ronde/topology/cpu_set.h"

namespace ronde::comm::detail {

// What one rank may use.
struct RankCores {
  topology::CpuSet cpus;                     // it may run on
  std::vector<topology::CpuQuota> quotas{};  // of its control groups
};

// How many cores the ranks of one node have together: those that they may run on, and no more than their control groups
// grant. Fewer than there are ranks: some rank must wait for a core, and none may spin. Pure.
int shared_cores(std::span<const RankCores> ranks);

}  // namespace ronde::comm::detail
