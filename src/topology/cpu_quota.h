#pragma once

#include <string>
#include <vector>

namespace ronde::topology {

// Processor time that a control group grants to all its processes together: containers and batch systems set it where
// they do not bind processes to cores.
struct CpuQuota {
  std::string group;   // the same text for all processes of the host that share this quota
  double cores = 0.0;  // processor seconds per second
  friend bool operator==(const CpuQuota&, const CpuQuota&) = default;
};

// The quotas of this process: of its control group and of those around it, the innermost first. Empty: no limit.
std::vector<CpuQuota> cpu_quotas();

}  // namespace ronde::topology
