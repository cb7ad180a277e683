#pragma once

#include <cstdint>

struct CUstream_st;  // CUDA's own: cudaStream_t is CUstream_st*

// What lies between kernels.cc and add_relu.cu, in plain types: nvcc sees no other header of ours.
namespace ronde::models::cuda {

enum class Real { F32, BF16, F16 };

// x = max(x + other, 0), value by value.
struct AddReluWork {
  void* x;
  const void* other;
  std::int64_t count;
  Real type;
};

// Puts the kernel into the stream of the current GPU. Returns CUDA's error, 0 for none.
// REQUIRES: both memories aligned to their type, and apart from one another.
int launch_add_relu(const AddReluWork& work, CUstream_st* stream);

}  // namespace ronde::models::cuda
