#include "ronde/device/cuda/activity_buffers.h"

#include <new>

namespace ronde::device {

ActivityBuffers::ActivityBuffers() {
  spare_.reserve(kMost);
  filled_.reserve(kMost);
}

ActivityBuffers::~ActivityBuffers() {
  for (std::uint8_t* buffer : spare_) ::operator delete(buffer);
  for (const Filled& buffer : filled_) ::operator delete(buffer.start);
}

std::uint8_t* ActivityBuffers::take() noexcept {
  const Lock lock(mutex_);
  if (!spare_.empty()) {
    std::uint8_t* const buffer = spare_.back();
    spare_.pop_back();
    return buffer;
  }
  if (made_ == kMost) return nullptr;
  void* const fresh = ::operator new(kBytes, std::nothrow);
  if (fresh) ++made_;
  return static_cast<std::uint8_t*>(fresh);
}

void ActivityBuffers::put(Filled buffer) noexcept {
  const Lock lock(mutex_);
  if (reading_ && buffer.bytes > 0) {
    filled_.push_back(buffer);
    came_.notify_one();
  } else {
    spare_.push_back(buffer.start);
  }
}

void ActivityBuffers::begin() noexcept {
  const Lock lock(mutex_);
  reading_ = true;
}

void ActivityBuffers::end() noexcept {
  const Lock lock(mutex_);
  reading_ = false;
}

std::optional<ActivityBuffers::Filled> ActivityBuffers::next(const std::stop_token& stop) noexcept {
  Lock lock(mutex_);
  came_.wait(lock, stop, [this]() RONDE_REQUIRES(mutex_) { return !filled_.empty(); });
  if (filled_.empty()) return {};
  const Filled oldest = filled_.front();
  filled_.erase(filled_.begin());
  return oldest;
}

void ActivityBuffers::give_back(std::uint8_t* buffer) noexcept {
  const Lock lock(mutex_);
  spare_.push_back(buffer);
}

}  // namespace ronde::device
