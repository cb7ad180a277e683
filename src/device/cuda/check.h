#pragma once

#include <source_location>
#include <string_view>

#include <cuda_runtime_api.h>

// For sources that are built with CUDA only.
namespace ronde::device {

// Throws what CUDA says, after what we were doing and with the thread's current GPU.
//   check(cudaMemcpyAsync(...), "copying the batch");
// FAILS WITH: System unless `result` is cudaSuccess.
void check(cudaError_t result, std::string_view doing, std::source_location where = std::source_location::current());

}  // namespace ronde::device
