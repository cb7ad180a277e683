#include "ronde/device/stream.h"

#include <utility>

// What needs no CUDA.
namespace ronde::device {

Stream::Stream(Stream&& other) noexcept
    : device_(std::exchange(other.device_, kHost)),
      native_(std::exchange(other.native_, nullptr)),
      owned_(std::move(other.owned_)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  Stream taken(std::move(other));
  std::swap(device_, taken.device_);
  std::swap(native_, taken.native_);
  std::swap(owned_, taken.owned_);
  return *this;
}

}  // namespace ronde::device
