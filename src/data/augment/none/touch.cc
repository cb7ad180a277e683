// A build without CUDA's compiler has no kernels.
#include "ronde/base/error.h"
#include "ronde/data/augment/touch_gpu.h"

namespace ronde::data {

bool can_touch_on_gpu() {
  return false;
}

void detail::touch_on_gpu(const device::Stream& stream, const Touching&, const std::uint8_t*, const PictureTouch*,
                          void*) {
  throw Error::bad_input(
      "pictures cannot be touched on GPU {}: Ronde was built without CUDA's compiler (nvcc); say data.on_device = off",
      stream.device());
}

}  // namespace ronde::data
