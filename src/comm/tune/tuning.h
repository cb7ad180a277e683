#pragma once

#include <cstddef>

#include "ronde/comm/execute/fusion.h"

namespace ronde::comm::detail {

// What may change while a group works, on all members at the same point.
struct Tuning {
  FusionLimits limits = {};
  std::size_t algorithm = 0;  // of those that the link has; 0: the link's own choice for each size
  friend bool operator==(const Tuning&, const Tuning&) = default;
};

}  // namespace ronde::comm::detail
