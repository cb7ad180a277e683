#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

// Small arithmetic that parts of a report share. Pure.
namespace ronde::report {

inline double seconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

// 0 of nothing.
inline double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Of an even number, the upper of the two in the middle; 0 of nothing.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace ronde::report
