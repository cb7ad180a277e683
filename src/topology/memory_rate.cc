#include "ronde/topology/memory_rate.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/topology/affinity.h"

namespace ronde::topology {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kB = 1.0, kC = 2.0, kScale = 3.0;

// One thread's part of the arrays; it touches them first, so they lie in the memory that is nearest to it.
class Part {
 public:
  explicit Part(std::size_t count) : count_(count), all_(new double[3 * count]) {
    std::fill_n(a(), count, 0.0);
    std::fill_n(b(), count, kB);
    std::fill_n(c(), count, kC);
  }
  void triad() {
    double* __restrict const to = a();
    const double* __restrict const from = b();
    const double* __restrict const more = c();
    for (std::size_t i = 0; i < count_; ++i) to[i] = from[i] + kScale * more[i];
  }
  bool right() {
    return std::all_of(a(), a() + count_, [](double value) { return value == kB + kScale * kC; });
  }

 private:
  double* a() { return all_.get(); }
  double* b() { return all_.get() + count_; }
  double* c() { return all_.get() + 2 * count_; }

  const std::size_t count_;
  const std::unique_ptr<double[]> all_;
};

}  // namespace

double triad_gb_s(const TriadOptions& options) {
  const auto threads = static_cast<std::size_t>(std::max(1, options.threads));
  const std::size_t count = std::max<std::size_t>(1, options.bytes / (3 * sizeof(double)) / threads);
  double best = 0;
  bool wrong = false, too_much = false, unbound = false, more = true;
  Clock::time_point begin, first = Clock::now();
  int round = -1;  // the first only warms up
  const double bytes = static_cast<double>(3 * sizeof(double) * count * threads);
  const auto between = [&]() noexcept {
    const auto now = Clock::now();
    if (round > 0) best = std::max(best, bytes / std::chrono::duration<double>(now - begin).count());
    if (round == 0) first = now;
    more = !too_much && !unbound && (round < 1 || std::chrono::duration<double>(now - first).count() < options.seconds);
    ++round;
    begin = Clock::now();
  };
  std::barrier meeting(static_cast<std::ptrdiff_t>(threads), between);
  {
    std::vector<std::jthread> all;
    for (std::size_t i = 0; i < threads; ++i)
      all.emplace_back([&, i] {
        std::unique_ptr<Part> part;
        try {
          if (i < options.cpus.size()) bind_this_thread(options.cpus[i]);
          part = std::make_unique<Part>(count);
        } catch (const std::bad_alloc&) {
          std::atomic_ref(too_much).store(true);
        } catch (const Error&) {
          std::atomic_ref(unbound).store(true);
        }
        for (meeting.arrive_and_wait(); more; meeting.arrive_and_wait())
          if (part) part->triad();
        if (part && !too_much && !unbound && !part->right()) std::atomic_ref(wrong).store(true);
      });
  }
  if (too_much) throw Error::system(ENOMEM, "cannot allocate {} bytes for the memory benchmark", options.bytes);
  if (unbound) throw Error::system(EINVAL, "cannot bind the threads of the memory benchmark");
  if (wrong) throw Error(Error::Kind::Bug, "the sums of the memory benchmark are wrong");
  return best / 1e9;
}

}  // namespace ronde::topology
