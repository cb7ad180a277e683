#include "ronde/comm/link/shm/shared_cores.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace ronde::comm::detail {
namespace {

struct Grant {
  int ranks = 0;  // in the group
  double cores = 0.0;
};

}  // namespace

int shared_cores(std::span<const RankCores> ranks) {
  topology::CpuSet cpus;
  std::map<std::string, Grant> groups;
  for (const RankCores& rank : ranks) {
    cpus |= rank.cpus;
    for (const topology::CpuQuota& quota : rank.quotas) {
      groups[quota.group].ranks += 1;
      groups[quota.group].cores = quota.cores;
    }
  }
  // Ranks outside of a group have a core each as far as this group goes. A part of a core is none for who spins: once
  // the quota is used up, all processes of the group stand still until the next period.
  int cores = cpus.size();
  for (const auto& [name, grant] : groups) {
    const int outside = static_cast<int>(ranks.size()) - grant.ranks;
    cores = std::min(cores, outside + static_cast<int>(std::floor(std::min(grant.cores, 1e6))));
  }
  return std::max(cores, 1);
}

}  // namespace ronde::comm::detail
