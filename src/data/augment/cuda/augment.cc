#include <cstddef>
#include <limits>

#include "ronde/base/error.h"
#include "ronde/data/augment/augment_gpu.h"
#include "ronde/data/augment/cuda/augment_kernel.h"
#include "ronde/device/cuda/check.h"

namespace ronde::data {

static_assert(sizeof(cuda::Augmentation) == sizeof(Augmentation) &&
              offsetof(cuda::Augmentation, x) == offsetof(Augmentation, x) &&
              offsetof(cuda::Augmentation, y) == offsetof(Augmentation, y) &&
              offsetof(cuda::Augmentation, mirrored) == offsetof(Augmentation, mirrored) &&
              offsetof(cuda::Augmentation, share) == offsetof(Augmentation, share));

bool can_augment_on_gpu() {
  return true;
}

void detail::augment_on_gpu(const device::Stream& stream, const AugmentOptions& augment, const std::uint8_t* from,
                            const Augmentation* augmentations, void* into) {
  if (cuda::augment_blocks(augment.pictures, augment.height) > std::numeric_limits<std::int32_t>::max())
    throw Error::bad_input("{} pictures of {} rows are too many for one GPU launch", augment.pictures, augment.height);
  cuda::AugmentWork work{.from = from,
                         .augmentations = reinterpret_cast<const cuda::Augmentation*>(augmentations),
                         .into = into,
                         .pictures = augment.pictures,
                         .channels = augment.channels,
                         .from_height = augment.from_height,
                         .from_width = augment.from_width,
                         .height = augment.height,
                         .width = augment.width,
                         .scale = {},
                         .shift = {},
                         .planes = augment.layout == Layout::ChannelsFirst,
                         .bf16 = augment.bf16};
  for (std::size_t c = 0; c < PixelScale::kChannels; ++c) {
    work.scale[c] = augment.pixels.scale[c];
    work.shift[c] = augment.pixels.shift[c];
  }
  const device::CurrentDevice current(stream.device());
  device::check(static_cast<cudaError_t>(cuda::launch_augment(work, stream.native())), "augmenting pictures");
}

}  // namespace ronde::data
