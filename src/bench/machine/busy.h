#pragma once

#include <cstdint>
#include <string_view>

namespace ronde::bench::detail {

// Processor time of a machine since it started, over all cores, in the kernel's own unit.
struct CpuTime {
  std::uint64_t busy = 0, idle = 0;
};
// From the text of /proc/stat; zeros where it is something else. Pure.
CpuTime parse_cpu_time(std::string_view stat);

// How much of the machine is in use right now, from 0 to 1: what would disturb a benchmark, when asked while none runs.
// Takes a tenth of a second.
double busy_share();

}  // namespace ronde::bench::detail
