#pragma once

#include <bit>
#include <cstdint>

#include "ronde/data/array.h"

namespace ronde::data::picture {

// To the nearest, and to the even one of two that are as near. In a form that compilers make vectors of.
inline Bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, nan = bits >> 16 | 0x40;
  return {static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded)};
}

inline float to_float(Bf16 value) {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}

}  // namespace ronde::data::picture
