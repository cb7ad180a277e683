#include "ronde/bench/machine/roofline_compute.h"

namespace ronde::bench::detail {

Compute measure_compute(int, double) {
  return {.missing = "this build has no libtorch and cannot measure arithmetic"};
}

}  // namespace ronde::bench::detail
