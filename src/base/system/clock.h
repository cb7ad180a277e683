#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace ronde {

// Time since an arbitrary start that never jumps; the same for all processes of a machine.
inline std::chrono::nanoseconds monotonic_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch());
}

// A point in time after which waiting is over. Default: never.
class Deadline {
 public:
  Deadline() = default;
  static Deadline after(std::chrono::nanoseconds duration) {
    Deadline deadline;
    const auto now = std::chrono::steady_clock::now();
    // Further than the clock can count is never.
    if (duration < std::chrono::steady_clock::time_point::max() - now) deadline.at_ = now + duration;
    return deadline;
  }

  bool passed() const { return at_ && std::chrono::steady_clock::now() >= *at_; }

  // What is left, zero when passed; nothing when it is never.
  std::optional<std::chrono::nanoseconds> left() const {
    if (!at_) return {};
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(*at_ - std::chrono::steady_clock::now());
    return std::max(left, std::chrono::nanoseconds(0));
  }

  // For waits of the standard library: nothing when it is never.
  const std::optional<std::chrono::steady_clock::time_point>& at() const { return at_; }

 private:
  std::optional<std::chrono::steady_clock::time_point> at_;
};

}  // namespace ronde
