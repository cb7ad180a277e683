#pragma once

#include <cstddef>
#include <vector>

#include "ronde/topology/cpu_set.h"

namespace ronde::topology {

struct TriadOptions {
  int threads = 1;
  std::size_t bytes = std::size_t{768} << 20;  // of three arrays of all threads: far beyond any cache
  double seconds = 1.0;                        // at least one round is timed, whatever it takes
  std::vector<CpuSet> cpus = {};               // thread i is bound to cpus[i]; beyond them, as the caller is
};

// 10^9 bytes a second that so many threads read and write together while they compute a = b + s * c, the best of all
// rounds; counted as the program says it, without what the processor reads before it writes.
// FAILS WITH: System when there is not so much memory; Bug when a result is wrong.
double triad_gb_s(const TriadOptions& options);

}  // namespace ronde::topology
