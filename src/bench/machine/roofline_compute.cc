#include "ronde/bench/machine/roofline_compute.h"

#include "ronde/device/device.h"
#include "ronde/topology/affinity.h"
#include "ronde/train/limits/product_rates.h"

namespace ronde::bench::detail {

Compute measure_compute(int device, double seconds_each) {
  const train::ProductRates found =
      device == device::kHost ? train::measure_products(train::HostProducts{
                                    .threads = topology::affinity_of_this_thread().size(), .seconds = seconds_each})
                              : train::measure_products(train::GpuProducts{.device = device, .seconds = seconds_each});
  return {.f32 = found.f32, .tf32 = found.tf32, .bf16 = found.bf16, .f16 = found.f16};
}

}  // namespace ronde::bench::detail
