#pragma once

#include <cstddef>

#include "ronde/comm/math/reduce_level.h"
#include "ronde/comm/types.h"

namespace ronde::comm::math {

// out[i] = in[i] in another floating-point type, rounded to nearest even and once; what is too large becomes infinity,
// a NaN stays a NaN. Between a type and itself it is a copy. REQUIRES: `out` and `in` do not overlap, each is aligned
// for its elements. `level` is one that this processor can run. FAILS WITH: Bug, when a type is not f16, bf16, f32 or
// f64.
void convert(DType to, std::byte* out, DType from, const std::byte* in, std::size_t count, Level level = best_level());

// data[i] *= factor, in place. A factor of 1 leaves every bit alone.
// f16, bf16: multiplied in f32 and rounded once. f32, f64: in their own type, to which the factor is rounded first.
// Integers: multiplied as f64 and truncated towards zero; what does not fit becomes the nearest f64 that does, and NaN
// the lowest value. A factor of 1.0 / n with a whole n from 2 to 2^31 divides by n exactly: multiplying by the rounded
// 1.0 / 49 would make 0 of 49.
// Bool: unchanged.
void scale(DType dtype, std::byte* data, std::size_t count, double factor, Level level = best_level());

}  // namespace ronde::comm::math
