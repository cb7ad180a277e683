#pragma once

#include <span>

namespace ronde {

// What an operation of so many bytes took.
struct CostPoint {
  double bytes = 0;
  double us = 0;
};

// Its time as latency + bytes / bandwidth.
struct CostFit {
  double latency_us = 0;
  double us_per_byte = 0;
  double error = 0;  // half of the points are off by less than this share of their time

  double us(double bytes) const { return latency_us + bytes * us_per_byte; }
  double gb_per_s() const { return us_per_byte > 0 ? 1e-3 / us_per_byte : 0; }  // 0: the points tell of none
};

// The line that fits best, in terms of shares of the time and not of microseconds, so that small sizes count as much as
// large ones; points that are far off count little. Neither part is negative. Pure.
// FAILS WITH: BadInput for points of fewer than two sizes, or whose bytes or time are no positive numbers (bytes may be
// 0).
CostFit fit_cost(std::span<const CostPoint> points);

}  // namespace ronde
