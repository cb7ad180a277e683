#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ronde/trace/detail/rank_builder.h"

namespace ronde::trace::detail {

// From times in a file to the clock that ranks share: what was measured, joined by straight lines, since clocks drift.
// Before the first and after the last, their difference stays. Pure.
class SharedClock {
 public:
  SharedClock() = default;  // a file's times are shared already

  explicit SharedClock(std::vector<ClockPoint> points) : points_(std::move(points)) {
    std::ranges::stable_sort(points_, {}, &ClockPoint::trace);
    // Measurements that follow one another closely tell of their own error, not of drift.
    constexpr std::int64_t kApart = 50'000'000;
    std::vector<ClockPoint> kept;
    for (const ClockPoint& point : points_)
      if (kept.empty() || point.trace - kept.back().trace >= kApart) kept.push_back(point);
    points_ = std::move(kept);
  }

  std::int64_t at(std::int64_t trace) const {
    if (points_.empty()) return trace;
    const auto after = std::ranges::upper_bound(points_, trace, {}, &ClockPoint::trace);
    if (after == points_.begin()) return trace + offset(points_.front());
    if (after == points_.end()) return trace + offset(points_.back());
    const auto before = after - 1;
    const double share = static_cast<double>(trace - before->trace) / static_cast<double>(after->trace - before->trace);
    return trace + offset(*before) +
           static_cast<std::int64_t>(share * static_cast<double>(offset(*after) - offset(*before)));
  }

 private:
  static std::int64_t offset(const ClockPoint& point) { return point.reference - point.trace; }

  std::vector<ClockPoint> points_;
};

}  // namespace ronde::trace::detail
