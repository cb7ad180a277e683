#pragma once

#include <cstddef>
#include <span>

#include "ronde/comm/math/reduce_level.h"
#include "ronde/comm/types.h"

namespace ronde::comm::math {

// out[i] = scale * (inputs[0][i] op inputs[1][i] op ...), for i < count, from left to right. So with the inputs in rank
// order the result has the same bits whoever computes it, on whatever processor, and however a range is cut into
// pieces; only which of several NaNs it is may differ.
//
//   const std::array<const std::byte*, 2> inputs{mine, theirs};
//   reduce(DType::F32, ReduceOp::Average, mine, inputs, count, 1.0 / 2);
//
// f16, bf16: computed in f32, scale included, and rounded once, to nearest even. f32 and f64: in their own type.
// Integers: in their own type, wrapping around; then scaled as `scale` does it.
// Average: as Sum. The caller puts the divisor into `scale`.
// Min, Max: a NaN in any input makes a NaN; of equal values (0 and -0) the first stays.
// Bool: Sum, Average and Max are "or", Product and Min are "and"; `scale` does not matter.
//
// Each input is read once and `out` written once, whatever their number. Safe on any thread.
// REQUIRES: at least one input. All pointers aligned for their elements, no more. `out` is one of the inputs, or does
// not overlap any. `level` is one that this processor can run.
void reduce(DType dtype, ReduceOp op, std::byte* out, std::span<const std::byte* const> inputs, std::size_t count,
            double scale, Level level = best_level());

}  // namespace ronde::comm::math
