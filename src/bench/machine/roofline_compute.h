#pragma once

#include <string>

namespace ronde::bench::detail {

struct Compute {
  std::string missing = {};  // why there are no figures; empty: there are
  // 10^12 a second; 0: not measured. A type that the processor lacks is emulated, and slower than f32.
  double f32 = 0, tf32 = 0, bf16 = 0, f16 = 0;
};

// Large products of matrices through torch, on a GPU or (device::kHost) on all cores of this process.
// FAILS WITH: System.
Compute measure_compute(int device, double seconds_each);

}  // namespace ronde::bench::detail
