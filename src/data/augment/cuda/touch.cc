#include <cstddef>
#include <limits>

#include "ronde/base/error.h"
#include "ronde/data/augment/cuda/touch_kernel.h"
#include "ronde/data/augment/touch_gpu.h"
#include "ronde/device/cuda/check.h"

namespace ronde::data {

static_assert(sizeof(cuda::Touch) == sizeof(PictureTouch) && offsetof(cuda::Touch, x) == offsetof(PictureTouch, x) &&
              offsetof(cuda::Touch, y) == offsetof(PictureTouch, y) &&
              offsetof(cuda::Touch, mirrored) == offsetof(PictureTouch, mirrored) &&
              offsetof(cuda::Touch, share) == offsetof(PictureTouch, share));

bool can_touch_on_gpu() {
  return true;
}

void detail::touch_on_gpu(const device::Stream& stream, const Touching& touching, const std::uint8_t* from,
                          const PictureTouch* touches, void* into) {
  if (cuda::touch_blocks(touching.pictures, touching.height) > std::numeric_limits<std::int32_t>::max())
    throw Error::bad_input("{} pictures of {} rows are too many for one GPU launch", touching.pictures,
                           touching.height);
  cuda::TouchWork work{.from = from,
                       .touches = reinterpret_cast<const cuda::Touch*>(touches),
                       .into = into,
                       .pictures = touching.pictures,
                       .channels = touching.channels,
                       .from_height = touching.from_height,
                       .from_width = touching.from_width,
                       .height = touching.height,
                       .width = touching.width,
                       .scale = {},
                       .shift = {},
                       .planes = touching.layout == Layout::ChannelsFirst,
                       .bf16 = touching.bf16};
  for (std::size_t c = 0; c < PixelScale::kChannels; ++c) {
    work.scale[c] = touching.pixels.scale[c];
    work.shift[c] = touching.pixels.shift[c];
  }
  const device::CurrentDevice current(stream.device());
  device::check(static_cast<cudaError_t>(cuda::launch_touch(work, stream.native())), "touching pictures");
}

}  // namespace ronde::data
