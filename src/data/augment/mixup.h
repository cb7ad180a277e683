#pragma once

#include <cstdint>
#include <span>

#include "ronde/data/array.h"

namespace ronde::data {

// Mixup: a sample becomes `share` of itself and the rest of another, and so does what is to be learned of it.

// The share, from Beta(alpha, alpha), of one pair of samples: the same on every rank, thread and run.
// REQUIRES: alpha > 0.
double mixup_share(std::uint64_t seed, std::int64_t epoch, std::int64_t pair, double alpha);

// into = share * into + (1 - share) * other. REQUIRES: as many of both.
void mix(std::span<float> into, std::span<const float> other, float share);
void mix(std::span<Bf16> into, std::span<const Bf16> other, float share);  // computed in f32, rounded once

}  // namespace ronde::data
