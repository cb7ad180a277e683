#pragma once

#include <cstdint>

struct CUstream_st;  // CUDA's own: cudaStream_t is CUstream_st*

// What lies between augment.cc and augment.cu, in plain types: nvcc sees no other header of ours.
namespace ronde::data::cuda {

// As Augmentation.
struct Augmentation {
  std::int32_t x, y, mirrored;
  float share;
};

// As AugmentOptions, and where it all lies on the GPU.
struct AugmentWork {
  const std::uint8_t* from;
  const Augmentation* augmentations;
  void* into;
  std::int64_t pictures;
  int channels, from_height, from_width, height, width;
  float scale[4], shift[4];
  bool planes, bf16;
};

// Puts the kernel into the stream of the current GPU. Returns CUDA's error, 0 for none.
// REQUIRES: one picture at least, 1 to 4 channels.
int launch_augment(const AugmentWork& work, CUstream_st* stream);

// Blocks of the grid that it takes, of which there may be 2^31 - 1.
std::int64_t augment_blocks(std::int64_t pictures, int height);

}  // namespace ronde::data::cuda
