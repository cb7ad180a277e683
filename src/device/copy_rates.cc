#include "ronde/device/copy_rates.h"

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "ronde/device/device.h"
#include "ronde/device/memory.h"
#include "ronde/device/stream.h"

namespace ronde::device {
namespace {

constexpr std::size_t kBytes = std::size_t{256} << 20;
constexpr int kTries = 5, kCopies = 8;

double copy_gb_s(std::byte* to, const std::byte* from, const Stream& stream) {
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    stream.synchronize();
    const auto begin = std::chrono::steady_clock::now();
    for (int copy = 0; copy < kCopies; ++copy) copy_async(to, from, kBytes, stream);
    stream.synchronize();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    best = std::max(best, kCopies * static_cast<double>(kBytes) / time.count() / 1e9);
  }
  return best;
}

}  // namespace

CopyRates measure_copies(int device) {
  const CurrentDevice current(device);
  const Stream stream(device);
  const DeviceBuffer here(device, kBytes), there(device, kBytes);
  const PinnedBuffer host(kBytes);
  std::fill(host.bytes().begin(), host.bytes().end(), std::byte{1});
  CopyRates rates{.memory_gb_s = 2 * copy_gb_s(here.data(), there.data(), stream),
                  .host_gb_s = copy_gb_s(here.data(), host.data(), stream)};
  if (count() > 1) {
    const DeviceBuffer beyond((device + 1) % count(), kBytes);
    rates.peer_gb_s = copy_gb_s(beyond.data(), here.data(), stream);
  }
  return rates;
}

}  // namespace ronde::device
