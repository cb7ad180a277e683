#pragma once

#include <cstdint>
#include <vector>

#include "ronde/topology/cpu_set.h"

// How fast large matrices are multiplied through torch: the arithmetic that a training can reach at most.
namespace ronde::train {

// 10^12 operations per second; 0: not measured. A type that the processor lacks is emulated, and slower than f32.
struct ProductRates {
  double f32 = 0, tf32 = 0, bf16 = 0, f16 = 0;
};

struct HostProducts {
  int threads = 1;                          // each multiplies matrices of its own
  std::vector<topology::CpuSet> cpus = {};  // thread i is bound to cpus[i]; beyond them, as the caller is
  double seconds = 1.0;                     // per type
};
// By all threads together. Torch's own threads are not used, so their number and binding stay as they are. One call at
// a time. FAILS WITH: System.
ProductRates measure_products(const HostProducts& options);

struct GpuProducts {
  int device = 0;
  std::int64_t extent = 8192;  // rows and columns; three matrices stay in torch's cache of device memory
  double seconds = 1.0;        // per type
};
// FAILS WITH: System.
ProductRates measure_products(const GpuProducts& options);

}  // namespace ronde::train
