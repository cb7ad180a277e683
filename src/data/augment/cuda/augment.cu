// Pictures from bytes to what a network sees, in one pass over memory: see augment.h; augment.cc has the plain form.
#include "ronde/data/augment/cuda/augment_kernel.h"

#include <cuda_runtime.h>

namespace ronde::data::cuda {
namespace {

constexpr int kRun = 8;     // pixels of a row that a thread makes: in bf16, a channel of them is 16 bytes
constexpr int kLanes = 32;  // threads along a row
constexpr int kRows = 8;    // rows of a block

__device__ bool aligned(const void* address, unsigned to) {
  return reinterpret_cast<std::uintptr_t>(address) % to == 0;
}

// Intrinsics are never fused: each operation rounds once, as on the host.
__device__ float normal(const AugmentWork& work, unsigned byte, int channel) {
  return __fadd_rn(__fmul_rn(static_cast<float>(byte), work.scale[channel]), work.shift[channel]);
}

// Eight pixels that lie in the row that came, by loads of 8 bytes.
template <int kChannels>
__device__ void load_inside(const AugmentWork& work, bool mirrored, const std::uint8_t* at,
                            float (&values)[kRun * kChannels]) {
  uint2 words[kChannels];
#pragma unroll
  for (int i = 0; i < kChannels; ++i) words[i] = __ldg(reinterpret_cast<const uint2*>(at) + i);
#pragma unroll
  for (int k = 0; k < kRun * kChannels; ++k) {
    const unsigned word = k / 4 % 2 == 0 ? words[k / 8].x : words[k / 8].y;
    values[k] = normal(work, word >> 8 * (k % 4) & 255u, k % kChannels);
  }
  if (!mirrored) return;
#pragma unroll
  for (int p = 0; p < kRun / 2; ++p)
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      const float left = values[p * kChannels + c];
      values[p * kChannels + c] = values[(kRun - 1 - p) * kChannels + c];
      values[(kRun - 1 - p) * kChannels + c] = left;
    }
}

// The run of row `y` that begins at `x`, of a picture by its own augmentation. Behind the row's end it is anything.
template <int kChannels>
__device__ void load(const AugmentWork& work, const Augmentation& augmentation, const std::uint8_t* picture, int y,
                     int x, float (&values)[kRun * kChannels]) {
  const int row = y + augmentation.y;
  const bool row_inside = row >= 0 && row < work.from_height;
  const std::uint8_t* line =
      picture + static_cast<std::size_t>(row_inside ? row : 0) * static_cast<std::size_t>(work.from_width) * kChannels;
  const bool mirrored = augmentation.mirrored != 0;
  const int first = augmentation.x + (mirrored ? work.width - kRun - x : x);  // of what came, the leftmost
  if (row_inside && first >= 0 && first + kRun <= work.from_width && aligned(line + first * kChannels, 8)) {
    load_inside<kChannels>(work, mirrored, line + first * kChannels, values);
    return;
  }
#pragma unroll
  for (int p = 0; p < kRun; ++p) {
    const int column = first + (mirrored ? kRun - 1 - p : p);
    const bool inside = row_inside && column >= 0 && column < work.from_width;
#pragma unroll
    for (int c = 0; c < kChannels; ++c)
      values[p * kChannels + c] = inside ? normal(work, line[column * kChannels + c], c) : 0.0f;
  }
}

// To the nearest, and to the even one of two that are as near. There are no NaNs here.
__device__ unsigned upper_half(float value) {
  const unsigned bits = __float_as_uint(value);
  return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

__device__ unsigned both(float low, float high) {
  return upper_half(low) | upper_half(high) << 16;
}

// `count` of the values, one after the other.
template <int kCount>
__device__ void store(float* into, const float (&values)[kCount], int count) {
  if (count == kCount && aligned(into, 16)) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4)
      *reinterpret_cast<float4*>(into + i) = make_float4(values[i], values[i + 1], values[i + 2], values[i + 3]);
    return;
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    if (i < count) into[i] = values[i];
}

template <int kCount>
__device__ void store(std::uint16_t* into, const float (&values)[kCount], int count) {
  if (count == kCount && aligned(into, 16)) {
#pragma unroll
    for (int i = 0; i < kCount; i += 8)
      *reinterpret_cast<uint4*>(into + i) =
          make_uint4(both(values[i], values[i + 1]), both(values[i + 2], values[i + 3]),
                     both(values[i + 4], values[i + 5]), both(values[i + 6], values[i + 7]));
    return;
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    if (i < count) into[i] = static_cast<std::uint16_t>(upper_half(values[i]));
}

// Where a run goes: `picture` is the whole one that is made, `pixel` the run's first.
template <int kChannels, class Out>
__device__ void place(const AugmentWork& work, Out* picture, std::size_t pixel, int pixels,
                      const float (&values)[kRun * kChannels]) {
  if (!work.planes) {
    store<kRun * kChannels>(picture + pixel * kChannels, values, pixels * kChannels);
    return;
  }
  const std::size_t plane = static_cast<std::size_t>(work.height) * static_cast<std::size_t>(work.width);
#pragma unroll
  for (int c = 0; c < kChannels; ++c) {
    float channel[kRun];
#pragma unroll
    for (int p = 0; p < kRun; ++p) channel[p] = values[p * kChannels + c];
    store<kRun>(picture + c * plane + pixel, channel, pixels);
  }
}

template <int kChannels, class Out>
__global__ void __launch_bounds__(kLanes* kRows) augment(const __grid_constant__ AugmentWork work) {
  const unsigned row_blocks = static_cast<unsigned>(work.height + kRows - 1) / kRows;
  const std::int64_t i = blockIdx.x / row_blocks, j = i ^ 1;
  const int y = static_cast<int>(blockIdx.x % row_blocks * kRows + threadIdx.y);
  if (y >= work.height) return;
  const std::size_t came = static_cast<std::size_t>(work.from_height) * work.from_width * kChannels;
  const std::size_t made = static_cast<std::size_t>(work.height) * work.width * kChannels;
  const Augmentation own = work.augmentations[i];
  const bool mixes = own.share != 1.0f && j < work.pictures;
  const Augmentation other = work.augmentations[mixes ? j : i];
  const float rest = __fsub_rn(1.0f, own.share);
  Out* picture = static_cast<Out*>(work.into) + static_cast<std::size_t>(i) * made;
  for (int x = static_cast<int>(threadIdx.x) * kRun; x < work.width; x += kLanes * kRun) {
    float values[kRun * kChannels];
    load<kChannels>(work, own, work.from + static_cast<std::size_t>(i) * came, y, x, values);
    if (mixes) {
      float others[kRun * kChannels];
      load<kChannels>(work, other, work.from + static_cast<std::size_t>(j) * came, y, x, others);
#pragma unroll
      for (int k = 0; k < kRun * kChannels; ++k)
        values[k] = __fadd_rn(__fmul_rn(own.share, values[k]), __fmul_rn(rest, others[k]));
    }
    const std::size_t pixel = static_cast<std::size_t>(y) * work.width + x;
    place<kChannels>(work, picture, pixel, min(kRun, work.width - x), values);
  }
}

template <int kChannels>
cudaError_t launch(const AugmentWork& work, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(augment_blocks(work.pictures, work.height)));
  config.blockDim = dim3(kLanes, kRows);
  config.stream = stream;
  if (work.bf16) return cudaLaunchKernelEx(&config, augment<kChannels, std::uint16_t>, work);
  return cudaLaunchKernelEx(&config, augment<kChannels, float>, work);
}

}  // namespace

std::int64_t augment_blocks(std::int64_t pictures, int height) {
  return pictures * ((height + kRows - 1) / kRows);
}

int launch_augment(const AugmentWork& work, CUstream_st* stream) {
  switch (work.channels) {
    case 1: return launch<1>(work, stream);
    case 2: return launch<2>(work, stream);
    case 3: return launch<3>(work, stream);
    case 4: return launch<4>(work, stream);
    default: return cudaErrorInvalidValue;
  }
}

}  // namespace ronde::data::cuda
