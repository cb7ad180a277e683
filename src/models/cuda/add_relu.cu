// The end of a residual block in one pass over memory: see kernels.h, and kernels.cc for the plain form.
#include "ronde/models/cuda/add_relu_kernel.h"

#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace ronde::models::cuda {
namespace {

constexpr int kThreads = 256;  // of a block
constexpr int kFlights = 4;    // packs that a thread asks for before it waits for the first
constexpr unsigned kPackBytes = 16;

// Values that are moved by one load and one store.
template <class T, int kWidth>
struct alignas(sizeof(T) * kWidth) Pack {
  T values[kWidth];
};

__device__ float wide(float value) {
  return value;
}
__device__ float wide(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
__device__ float wide(__half value) {
  return __half2float(value);
}

template <class T>
__device__ T narrow(float value) {
  if constexpr (sizeof(T) == sizeof(float))
    return value;
  else if constexpr (std::is_same_v<T, __half>)
    return __float2half_rn(value);
  else
    return __float2bfloat16_rn(value);
}

// Torch rounds the sum to the type and then cuts it off; rounding keeps the sign, so the order does not matter.
// A NaN is not below 0 and stays; -0 becomes 0.
template <class T>
__device__ T add_relu(T x, T other) {
  const float sum = __fadd_rn(wide(x), wide(other));
  return narrow<T>(sum <= 0.0f ? 0.0f : sum);
}

template <class T, int kWidth>
__device__ Pack<T, kWidth> add_relu(Pack<T, kWidth> x, const Pack<T, kWidth>& other) {
#pragma unroll
  for (int i = 0; i < kWidth; ++i) x.values[i] = add_relu(x.values[i], other.values[i]);
  return x;
}

// A block makes kThreads * kFlights packs that lie side by side; the first one also makes what fills no pack.
template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    add_relu_packs(T* __restrict__ x, const T* __restrict__ other, std::int64_t count) {
  using Packed = Pack<T, kWidth>;
  const std::int64_t packs = count / kWidth;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (kThreads * kFlights) + threadIdx.x;
  Packed* const into = reinterpret_cast<Packed*>(x) + first;
  const Packed* const with = reinterpret_cast<const Packed*>(other) + first;
  if (first + (kFlights - 1) * kThreads < packs) {
    Packed mine[kFlights], others[kFlights];
#pragma unroll
    for (int i = 0; i < kFlights; ++i) {
      mine[i] = into[i * kThreads];
      others[i] = with[i * kThreads];
    }
#pragma unroll
    for (int i = 0; i < kFlights; ++i) into[i * kThreads] = add_relu(mine[i], others[i]);
  } else {
    for (int i = 0; first + i * kThreads < packs; ++i)
      into[i * kThreads] = add_relu(into[i * kThreads], with[i * kThreads]);
  }
  const std::int64_t left = packs * kWidth + threadIdx.x;
  if (blockIdx.x == 0 && left < count) x[left] = add_relu(x[left], other[left]);
}

template <class T, int kWidth>
cudaError_t launch_packs(const AddReluWork& work, cudaStream_t stream) {
  constexpr std::int64_t kBlock = static_cast<std::int64_t>(kThreads) * kFlights * kWidth;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>((work.count + kBlock - 1) / kBlock));
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, add_relu_packs<T, kWidth>, static_cast<T*>(work.x),
                            static_cast<const T*>(work.other), work.count);
}

bool aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % kPackBytes == 0;
}

template <class T>
cudaError_t launch(const AddReluWork& work, cudaStream_t stream) {
  if (aligned(work.x) && aligned(work.other)) return launch_packs<T, kPackBytes / sizeof(T)>(work, stream);
  return launch_packs<T, 1>(work, stream);
}

}  // namespace

int launch_add_relu(const AddReluWork& work, CUstream_st* stream) {
  if (work.count == 0) return cudaSuccess;
  switch (work.type) {
    case Real::F32: return launch<float>(work, stream);
    case Real::BF16: return launch<__nv_bfloat16>(work, stream);
    case Real::F16: return launch<__half>(work, stream);
    default: return cudaErrorInvalidValue;
  }
}

}  // namespace ronde::models::cuda
