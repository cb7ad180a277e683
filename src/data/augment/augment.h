#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ronde/data/picture/picture_decoder.h"
#include "ronde/data/sample_kind.h"
#include "ronde/device/stream.h"

namespace ronde::data {

// Pictures that came as bytes (kinds that are u8) become what a network sees: cropped, mirrored, normalised and mixed
// with their neighbours, all at once, on a GPU or on the host.

// How bytes of pixels are normalised. REQUIRES: no more than 4 channels.
PixelScale pixel_scale(const Normalization& normal);

// What is augmented, and what comes out.
struct AugmentOptions {
  std::int64_t pictures = 0;
  int channels = 3;                         // 1 to 4
  int from_height = 224, from_width = 224;  // of pictures as they came: channels last
  int height = 224, width = 224;            // as they are wanted
  PixelScale pixels = {};
  Layout layout = Layout::ChannelsFirst;
  bool bf16 = false;  // rather than f32

  // Of pictures of a kind that is u8, as large as they came.
  static AugmentOptions of(const SampleKind& kind, std::int64_t pictures);
  std::size_t from_bytes() const;
  std::size_t into_bytes() const;
};

// Pixel (x, y) of a picture is that at (x, y) + (augmentation.x, augmentation.y) of what came, or at (width - 1 - x, y)
// + ... where it is mirrored; outside it is 0, which is the mean. Its value is byte * scale + shift. Where the share is
// not 1 that is mixed: share * value + (1 - share) * that of picture i ^ 1, by whose own augmentation it is made; a
// last one without a neighbour stays as it is. Each operation rounds once, in f32, so host and GPU give the same bits.
// REQUIRES: from_bytes() and into_bytes() of memory, and as many augmentations as pictures.
void augment_pictures(const AugmentOptions& augment, const std::uint8_t* from, const Augmentation* augmentations,
                      void* into);

// The same, put into a stream: memory and augmentations are then on its GPU. On the host's stream it is done on return.
// FAILS WITH: BadInput for a size that cannot be, or a build without kernels; System.
void augment_pictures_on(const device::Stream& stream, const AugmentOptions& augment, const std::uint8_t* from,
                         const Augmentation* augmentations, void* into);

// Whether this build has the kernel.
bool can_augment_on_gpu();

}  // namespace ronde::data
