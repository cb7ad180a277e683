#pragma once

#include <cstddef>
#include <span>

#include "ronde/comm/math/reduction.h"

namespace ronde::comm::math {

// Each of `memories` becomes scale * (memories[0] op memories[1] op ...), with the bits that reduce() gives. Safe on
// any thread. REQUIRES: memories of `bytes` bytes that do not overlap, aligned for their elements.
void reduce_into_all(const Reduction& reduction, std::span<std::byte* const> memories, std::size_t bytes);

}  // namespace ronde::comm::math
