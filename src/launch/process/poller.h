#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace ronde::launch::detail {

// One round of waiting: add what to wait for, then wait.
class Poller {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `ready` is also called when the other end is gone, whatever `events` says; and even when what was called before it
  // in this round has closed the descriptor.
  void add(int descriptor, short events, std::function<void()> ready) {
    waits_.push_back({descriptor, events, 0});
    ready_.push_back(std::move(ready));
  }

  // Returns when something was ready and has been called, or when the time has come.
  void wait(std::optional<Time> until) {
    if (poll(waits_.data(), waits_.size(), milliseconds(until)) <= 0) return;
    for (std::size_t i = 0; i < waits_.size(); ++i)
      if (waits_[i].revents != 0) ready_[i]();
  }

 private:
  // Rounded up: a round that ends a little too early would be followed by one that has no time left.
  static int milliseconds(std::optional<Time> until) {
    if (!until) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - std::chrono::steady_clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
  }

  std::vector<pollfd> waits_;
  std::vector<std::function<void()>> ready_;
};

}  // namespace ronde::launch::detail
