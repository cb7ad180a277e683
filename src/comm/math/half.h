#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ronde::comm::math {

// f16 (5 bits of exponent, 10 of mantissa) and bf16 (the upper half of an f32), as bit patterns, to and from f32 and
// f64. Narrowing rounds to nearest, ties to even; what is too large becomes infinity; a NaN stays a NaN of the same
// sign, made quiet. Widening is exact.
//
// No branches, no tables and no special instructions: a loop around any of these is vectorised by the compiler. Nothing
// here reads or makes a denormal f32 on behalf of f16, so programs that flush denormals to zero get the same f16
// values, and processors that handle denormals slowly do not slow down.

// Not "?:", from which compilers make branches around the arithmetic of one side, and then no vectors.
inline std::uint32_t select(bool which, std::uint32_t yes, std::uint32_t no) {
  const std::uint32_t mask = 0u - static_cast<std::uint32_t>(which);
  return (yes & mask) | (no & ~mask);
}

inline float widen_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

inline std::uint16_t narrow_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t round = 0x7fffu + ((bits >> 16) & 1);  // the carry runs into the exponent, up to infinity
  const std::uint32_t result = select(std::isnan(value), bits | 0x40'0000u, bits + round);
  return static_cast<std::uint16_t>(result >> 16);
}

inline float widen_f16(std::uint16_t bits) {
  const std::uint32_t magnitude = (bits & 0x7fffu) << 13;
  // From f16's exponent bias to f32's in two steps, 224 - 112: with the first, f16's infinity and NaN become f32's.
  const float normal = std::bit_cast<float>(magnitude + (224u << 23)) * 0x1p-112f;
  // A denormal lacks the implicit leading one: put it in, subtract it again as a number.
  const float denormal = std::bit_cast<float>(magnitude + (113u << 23)) - 0x1p-14f;
  const std::uint32_t number =
      select(magnitude < (1u << 23), std::bit_cast<std::uint32_t>(denormal), std::bit_cast<std::uint32_t>(normal));
  return std::bit_cast<float>(number | ((bits & 0x8000u) << 16));
}

inline std::uint16_t narrow_f16(float value) {
  constexpr std::uint32_t kInfinity = 143u << 23;  // 2^16, the first power of two that f16 does not have
  constexpr std::uint32_t kNormal = 113u << 23;    // 2^-14, the first f32 that is not denormal in f16
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fff'ffffu;
  const std::uint32_t bounded = select(magnitude < kInfinity, magnitude, kInfinity);
  // Added to a number 2^13 times its power of two, the last bit that an f32 keeps is the last that f16 keeps.
  const std::uint32_t power = select(bounded > kNormal, bounded & 0x7f80'0000u, kNormal);
  const std::uint32_t anchor = power + (13u << 23);
  const float sum = std::bit_cast<float>(bounded) + std::bit_cast<float>(anchor);
  const std::uint32_t mantissa = std::bit_cast<std::uint32_t>(sum) - anchor;  // with its leading one, if it is normal
  const std::uint32_t number = mantissa + ((power - kNormal) >> 13);
  const std::uint32_t quiet = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  const std::uint32_t result = select(std::isnan(value), quiet, number);
  return static_cast<std::uint16_t>(result | ((bits >> 16) & 0x8000u));
}

// An f32 that narrows to the same f16 or bf16 as `value` itself. Rounding to nearest twice is wrong just beside a tie;
// here the first rounding goes towards zero, and an f32 that lost something gets an odd last bit, so that it is no tie.
inline float narrow_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const double back = nearest;
  const std::uint32_t away = std::fabs(back) > std::fabs(value);
  const std::uint32_t inexact = back != value;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(nearest) - away) | inexact);
}

}  // namespace ronde::comm::math
