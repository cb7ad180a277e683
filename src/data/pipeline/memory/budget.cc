#include "ronde/data/pipeline/memory/budget.h"

#include <algorithm>

namespace ronde::data {

std::optional<Budget::Reservation> Budget::acquire(std::size_t bytes, const std::stop_token& stop) {
  Lock lock(mutex_);
  const auto fits = [&]() RONDE_REQUIRES(mutex_) { return used_ + bytes <= limit_; };
  if (!fits() && !room_.wait(lock, stop, fits)) return {};
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  if (all_ != nullptr) all_->change(0, bytes);
  return Reservation(this, bytes);
}

Budget::Reservation Budget::count(std::size_t bytes) {
  change(0, bytes);
  return Reservation(this, bytes);
}

std::size_t Budget::used() const {
  const Lock lock(mutex_);
  return used_;
}

std::size_t Budget::peak() const {
  const Lock lock(mutex_);
  return peak_;
}

void Budget::change(std::size_t less, std::size_t more) noexcept {
  {
    const Lock lock(mutex_);
    used_ = used_ - less + more;
    peak_ = std::max(peak_, used_);
    if (all_ != nullptr) all_->change(less, more);  // before anyone else can take what is free now
  }
  if (less > more) room_.notify_all();
}

void Budget::Reservation::release() noexcept {
  if (from_ != nullptr && bytes_ > 0) from_->change(bytes_, 0);
  from_ = nullptr;
  bytes_ = 0;
}

void Budget::Reservation::shrink(std::size_t bytes) noexcept {
  if (from_ == nullptr || bytes >= bytes_) return;
  from_->change(bytes_ - bytes, 0);
  bytes_ = bytes;
}

void Budget::Reservation::grow(std::size_t bytes) noexcept {
  if (from_ == nullptr) return;
  from_->change(0, bytes);
  bytes_ += bytes;
}

}  // namespace ronde::data
