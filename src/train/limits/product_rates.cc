#include "ronde/train/limits/product_rates.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <exception>
#include <thread>

#include <torch/torch.h>

#include "ronde/base/error.h"
#include "ronde/topology/affinity.h"

namespace ronde::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double tera_operations(std::int64_t extent) {
  const auto side = static_cast<double>(extent);
  return 2.0 * side * side * side / 1e12;
}

struct Factors {
  Factors(torch::Device device, torch::ScalarType type, std::int64_t extent)
      : a(torch::ones({extent, extent}, torch::TensorOptions(device).dtype(type))),
        b(torch::ones_like(a)),
        product(torch::empty_like(a)) {}

  // On a GPU the host runs ahead; the last number of a product is there when the product is.
  double seconds_of(int rounds) {
    const auto begin = Clock::now();
    for (int i = 0; i < rounds; ++i) torch::mm_out(product, a, b);
    if (!product.is_cpu()) product.view(-1)[-1].item<double>();
    return seconds_since(begin);
  }

  torch::Tensor a, b, product;
};

// The best of several products, at least one: what disturbs only makes it slower.
double best_rate(Factors& factors, std::int64_t extent, int rounds, double seconds) {
  double best = 0;
  const auto begin = Clock::now();
  do best = std::max(best, rounds * tera_operations(extent) / factors.seconds_of(rounds));
  while (seconds_since(begin) < seconds);
  return best;
}

// Large enough that products are at their best. A type that is emulated may take a second for one of those.
constexpr std::int64_t kSmallExtent = 256, kHostExtent = 1024;

std::int64_t host_extent(torch::ScalarType type, double seconds) {
  Factors small(torch::kCPU, type, kSmallExtent);
  small.seconds_of(1);
  const double once = small.seconds_of(1) * tera_operations(kHostExtent) / tera_operations(kSmallExtent);
  return once < seconds / 4 ? kHostExtent : kSmallExtent;
}

// The number of threads that torch gives to new threads is one for the whole process, and is set in each of ours.
class ThreadsOfTorch {
 public:
  ThreadsOfTorch() : before_(at::get_num_threads()) {}
  ~ThreadsOfTorch() { at::set_num_threads(before_); }
  ThreadsOfTorch(const ThreadsOfTorch&) = delete;
  ThreadsOfTorch& operator=(const ThreadsOfTorch&) = delete;

 private:
  const int before_;
};

double host_rate(const HostProducts& options, torch::ScalarType type) {
  const auto threads = static_cast<std::size_t>(std::max(1, options.threads));
  std::vector<double> rates(threads, 0);
  std::vector<std::exception_ptr> failures(threads);
  std::barrier start(static_cast<std::ptrdiff_t>(threads));
  {
    const ThreadsOfTorch restored;
    std::vector<std::jthread> all;
    for (std::size_t i = 0; i < threads; ++i)
      all.emplace_back([&, i] {
        try {
          if (i < options.cpus.size()) topology::bind_this_thread(options.cpus[i]);
          at::set_num_threads(1);
          const torch::NoGradGuard no_grad;
          const std::int64_t extent = host_extent(type, options.seconds);
          Factors factors(torch::kCPU, type, extent);
          factors.seconds_of(1);
          start.arrive_and_wait();
          rates[i] = best_rate(factors, extent, 1, options.seconds);
        } catch (...) {
          failures[i] = std::current_exception();
          start.arrive_and_drop();
        }
      });
  }
  double sum = 0;
  for (std::size_t i = 0; i < threads; ++i) {
    if (failures[i]) std::rethrow_exception(failures[i]);
    sum += rates[i];
  }
  return sum;
}

double gpu_rate(const GpuProducts& options, torch::ScalarType type) {
  constexpr double kMostRounds = 10;
  const torch::NoGradGuard no_grad;
  Factors factors({torch::kCUDA, static_cast<torch::DeviceIndex>(options.device)}, type, options.extent);
  factors.seconds_of(1);
  const double once = std::max(1e-9, factors.seconds_of(1));
  const int rounds = static_cast<int>(std::clamp(options.seconds / once, 1.0, kMostRounds));
  return best_rate(factors, options.extent, rounds, options.seconds);
}

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

template <class Measure>
ProductRates as_ronde_error(Measure measure) {
  try {
    return measure();
  } catch (const c10::Error& error) {
    throw Error(Error::Kind::System,
                fmt::format("torch failed to multiply matrices: {}", error.what_without_backtrace()));
  }
}

}  // namespace

ProductRates measure_products(const HostProducts& options) {
  return as_ronde_error([&] {
    return ProductRates{.f32 = host_rate(options, torch::kFloat32), .bf16 = host_rate(options, torch::kBFloat16)};
  });
}

ProductRates measure_products(const GpuProducts& options) {
  return as_ronde_error([&] {
    ProductRates found;
    {
      const Tf32 off(false);
      found.f32 = gpu_rate(options, torch::kFloat32);
    }
    {
      const Tf32 on(true);
      found.tf32 = gpu_rate(options, torch::kFloat32);
    }
    found.bf16 = gpu_rate(options, torch::kBFloat16);
    found.f16 = gpu_rate(options, torch::kFloat16);
    return found;
  });
}

}  // namespace ronde::train
