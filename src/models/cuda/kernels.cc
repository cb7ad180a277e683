#include "ronde/models/kernels.h"

#include <string_view>

#include <c10/core/impl/VirtualGuardImpl.h>

#include "ronde/device/cuda/check.h"
#include "ronde/device/device.h"
#include "ronde/models/cuda/add_relu_kernel.h"
#include "ronde/models/detail/kernel_calls.h"

namespace ronde::models {
namespace {

// Asked for through c10's own interface: a libtorch without CUDA, which has no header for it, compiles this too.
CUstream_st* current_stream(const torch::Device& device) {
  return static_cast<CUstream_st*>(c10::impl::VirtualGuardImpl(torch::kCUDA).getStream(device).native_handle());
}

cuda::Real real_of(const torch::Tensor& tensor) {
  if (tensor.scalar_type() == torch::kBFloat16) return cuda::Real::BF16;
  return tensor.scalar_type() == torch::kFloat16 ? cuda::Real::F16 : cuda::Real::F32;
}

// False where the GPU is older than those of RONDE_CUDA_ARCHITECTURES: an ordinary answer, over which the next to ask
// CUDA for its last error is not to trip.
bool launched(int result, std::string_view doing) {
  const auto error = static_cast<cudaError_t>(result);
  if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction) {
    (void)cudaGetLastError();
    return false;
  }
  device::check(error, doing);
  return true;
}

}  // namespace

bool has_kernels() {
  return true;
}

bool detail::add_relu_on_gpu(const torch::Tensor& x, const torch::Tensor& other) {
  if (!x.is_cuda()) return false;
  const cuda::AddReluWork work{
      .x = x.data_ptr(), .other = other.const_data_ptr(), .count = x.numel(), .type = real_of(x)};
  const device::CurrentDevice current(x.get_device());
  return launched(cuda::launch_add_relu(work, current_stream(x.device())), "adding a shortcut");
}

}  // namespace ronde::models
