#include "ronde/data/pipeline/gate.h"

#include <algorithm>

#include "ronde/base/error.h"
#include "ronde/base/text/units.h"

namespace ronde::data {

void Gate::Place::release() noexcept {
  if (gate_ == nullptr) return;
  resize(0);
  gate_ = nullptr;
}

void Gate::Place::resize(std::size_t bytes) noexcept {
  if (gate_ == nullptr) return;
  const std::size_t before = counted_.bytes();
  {
    const Lock lock(gate_->mutex_);
    gate_->used_ += bytes - before;
    if (kept_) gate_->kept_ += bytes - before;
    if (bytes > before)
      counted_.grow(bytes - before);
    else
      counted_.shrink(bytes);
  }
  if (bytes < before) gate_->changed_.notify_all();
}

void Gate::Place::set_kept(bool kept) noexcept {
  if (gate_ == nullptr || kept == kept_) return;
  {
    const Lock lock(gate_->mutex_);
    if (kept)
      gate_->kept_ += counted_.bytes();
    else
      gate_->kept_ -= counted_.bytes();
  }
  kept_ = kept;
  gate_->changed_.notify_all();
}

void Gate::Place::take(Place other) noexcept {
  if (gate_ == nullptr) return swap(other);
  counted_.take(std::move(other.counted_));
  other.gate_ = nullptr;
}

void Gate::Asking::tell(int more) noexcept {
  if (gate_ == nullptr) return;
  {
    const Lock lock(gate_->mutex_);
    gate_->asking_ += more;
  }
  if (more > 0) gate_->changed_.notify_all();
}

void Gate::add_gatherer() {
  const Lock lock(mutex_);
  ++gatherers_;
}

std::optional<Gate::Place> Gate::enter(std::size_t bytes, const std::stop_token& stop) {
  Lock lock(mutex_);
  std::size_t wanted = 0;
  const auto fits = [&]() RONDE_REQUIRES(mutex_) {
    wanted = std::min(std::max(bytes, most_each_), limit_);
    return used_ + wanted <= limit_;
  };
  const auto fits_or_is_stuck = [&]() RONDE_REQUIRES(mutex_) {
    return fits() || (used_ == kept_ && asking_ == gatherers_);
  };
  if (!changed_.wait(lock, stop, fits_or_is_stuck)) return {};
  if (!fits())
    throw Error::bad_input(
        "the samples of a batch or buffer need more than the {} that data.memory leaves for them: raise data.memory, "
        "or use fewer samples",
        format_bytes(limit_));
  used_ += wanted;
  kept_ += wanted;
  return Place(this, all_.count(wanted));
}

void Gate::expect(std::size_t bytes) {
  const Lock lock(mutex_);
  most_each_ = std::max(most_each_, bytes);
}

}  // namespace ronde::data
