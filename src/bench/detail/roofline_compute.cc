#include "ronde/bench/detail/roofline_compute.h"

#include <algorithm>
#include <chrono>

#include <torch/torch.h>

#include "ronde/base/error.h"
#include "ronde/device/device.h"

namespace ronde::bench::detail {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// On a GPU the host runs ahead; the last number of a product is there when the product is.
void finish(const torch::Tensor& product) {
  if (!product.is_cpu()) product.view(-1)[-1].item<double>();
}

// The best of several products: what disturbs only makes it slower.
double tflops_of(torch::Device device, torch::ScalarType type, std::int64_t extent, double seconds) {
  const torch::NoGradGuard no_grad;
  const auto options = torch::TensorOptions(device).dtype(type);
  const torch::Tensor a = torch::ones({extent, extent}, options), b = torch::ones({extent, extent}, options);
  torch::Tensor product = torch::empty({extent, extent}, options);
  double best = 0;
  const int rounds = device.is_cpu() ? 1 : 10;
  torch::mm_out(product, a, b);
  finish(product);
  for (const auto begin = Clock::now(); best == 0 || seconds_since(begin) < seconds;) {
    const auto start = Clock::now();
    for (int i = 0; i < rounds; ++i) torch::mm_out(product, a, b);
    finish(product);
    const double all = 2.0 * static_cast<double>(extent) * static_cast<double>(extent) * static_cast<double>(extent);
    best = std::max(best, rounds * all / seconds_since(start) / 1e12);
  }
  return best;
}

// Large enough that products are at their best, small enough that one is done in a blink.
constexpr std::int64_t kHostExtent = 1536, kGpuExtent = 8192;

class Tf32 {
 public:
  explicit Tf32(bool on) : before_(at::globalContext().allowTF32CuBLAS()) {
    at::globalContext().setAllowTF32CuBLAS(on);
  }
  ~Tf32() { at::globalContext().setAllowTF32CuBLAS(before_); }
  Tf32(const Tf32&) = delete;
  Tf32& operator=(const Tf32&) = delete;

 private:
  const bool before_;
};

}  // namespace

Compute measure_compute(int device, double seconds_each) {
  const bool host = device == device::kHost;
  const torch::Device where =
      host ? torch::Device(torch::kCPU) : torch::Device(torch::kCUDA, static_cast<torch::DeviceIndex>(device));
  const std::int64_t extent = host ? kHostExtent : kGpuExtent;
  Compute found;
  try {
    {
      const Tf32 off(false);
      found.f32 = tflops_of(where, torch::kFloat32, extent, seconds_each);
    }
    if (!host) {
      const Tf32 on(true);
      found.tf32 = tflops_of(where, torch::kFloat32, extent, seconds_each);
    }
    found.bf16 = tflops_of(where, torch::kBFloat16, extent, seconds_each);
    if (!host) found.f16 = tflops_of(where, torch::kFloat16, extent, seconds_each);
  } catch (const c10::Error& error) {
    throw Error(Error::Kind::System, fmt::format("torch cannot multiply matrices: {}", error.what_without_backtrace()));
  }
  return found;
}

}  // namespace ronde::bench::detail
