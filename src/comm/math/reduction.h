#pragma once

#include "ronde/comm/types.h"

namespace ronde::comm::math {

// What a reduction computes: scale * (values of member 0 op values of member 1 op ...), always in this order.
struct Reduction {
  DType dtype = DType::F32;
  ReduceOp op = ReduceOp::Sum;
  double scale = 1.0;  // Average: 1 / number of members, times what the user asked for

  // For a part of the members, whose results are reduced once more.
  Reduction unscaled() const { return {dtype, op, 1.0}; }
  // The same of values that have been converted.
  Reduction as(DType other) const { return {other, op, scale}; }
};

}  // namespace ronde::comm::math
