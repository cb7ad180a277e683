#pragma once

#include <algorithm>
#include <cstdint>

#include "ronde/trace/file/run.h"

namespace ronde::report {

// How long two ranges have in common.
inline std::int64_t overlap(trace::TimeRange a, trace::TimeRange b) {
  return std::max<std::int64_t>(0, std::min(a.end, b.end) - std::max(a.begin, b.begin));
}

}  // namespace ronde::report
