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
      "cannot augment pictures on GPU {}: Ronde was built without the CUDA compiler (nvcc); set data.on_device = off",
      stream.device());
}

}  // namespace ronde::data
