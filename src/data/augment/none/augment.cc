// A build without CUDA's compiler has no kernels.
#include "ronde/base/error.h"
#include "ronde/data/augment/augment_gpu.h"

namespace ronde::data {

bool can_augment_on_gpu() {
  return false;
}

void detail::augment_on_gpu(const device::Stream& stream, const AugmentOptions&, const std::uint8_t*,
                            const Augmentation*, void*) {
  throw Error::bad_input(
      "cannot augment pictures on GPU {}: Ronde was built without the CUDA compiler (nvcc); set data.on_device = off",
      stream.device());
}

}  // namespace ronde::data
