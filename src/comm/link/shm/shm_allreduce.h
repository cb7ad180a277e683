#pragma once

#include "ronde/comm/link/shm/segments.h"
#include "ronde/comm/link/tcp/channel.h"
#include "ronde/comm/types.h"

namespace ronde::comm::detail {

// What an allreduce computes: scale * (values of member 0 op values of member 1 op ...), always in this order.
struct Reduction {
  DType dtype = DType::F32;
  ReduceOp op = ReduceOp::Sum;
  double scale = 1.0;  // Average: 1 / number of members, times what the user asked for

  // For a part of the members, whose results are reduced once more.
  Reduction unscaled() const { return {dtype, op, 1.0}; }
  // The same of values that have been converted.
  Reduction as(DType other) const { return {other, op, scale}; }
};

// Replaces `data` by the reduction over all members, which must have as many bytes each. The same bits on every member.
Task shm_allreduce(Channel& channel, Segments data, Reduction reduction);

}  // namespace ronde::comm::detail
