#pragma once

namespace ronde::bench::detail {

// In 10^9 bytes a second; 0: there is no such thing.
struct GpuRates {
  double memory_gb_s = 0;  // read and written by a copy on the GPU itself
  double host_gb_s = 0;    // from pinned memory to the GPU
  double peer_gb_s = 0;    // to the next GPU
};

// REQUIRES: device::count() > 0. FAILS WITH: System.
GpuRates measure_gpu(int device);

}  // namespace ronde::bench::detail
