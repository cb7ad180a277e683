#pragma once

#include <algorithm>
#include <chrono>

namespace ronde::comm::detail {

// How long to sleep where nobody rings: longer each time that nothing has come meanwhile, until beyond kSoon it is as
// long as one part in `parts` of the wait so far. So what comes is seen at most that much later, and a long wait costs
// little. With 10 parts and at least 100 ms at most, it wakes at most 10 times in each second but the first.
class BackOff {
 public:
  struct Limits {
    std::chrono::nanoseconds shortest, longest;
    int parts;
  };
  explicit BackOff(Limits limits) : limits_(limits) {}
  void reset() { time_ = limits_.shortest; }
  std::chrono::nanoseconds next() {
    const auto now = time_;
    time_ = std::min(time_ < kSoon ? 2 * time_ : time_ + time_ / limits_.parts, limits_.longest);
    return now;
  }

 private:
  static constexpr std::chrono::microseconds kSoon{400};
  Limits limits_;
  std::chrono::nanoseconds time_ = limits_.shortest;
};

}  // namespace ronde::comm::detail
