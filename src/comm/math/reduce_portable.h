#pragma once

// Included by reduce_compiled.h alone, on processors of which we know nothing special.

#include <cstddef>
#include <cstdint>

#define RONDE_AVX2
#define RONDE_AVX512

namespace ronde::comm::math {

inline bool processor_has(Level) {
  return false;
}

// Instructions that convert f16, for the arrays' first elements; returns how many it did. Here there are none.
template <Level>
struct F16Hardware {
  static std::size_t widen(float*, const std::uint16_t*, std::size_t) { return 0; }
  static std::size_t narrow(std::uint16_t*, const float*, std::size_t) { return 0; }
};

}  // namespace ronde::comm::math
