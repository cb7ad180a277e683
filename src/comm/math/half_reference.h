#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace ronde::comm::math {

// For tests: f16 and bf16 as their definition has them, slowly, to compare the fast code with.
struct HalfFormat {
  int exponent_bits;
  int mantissa_bits;

  int infinity() const { return ((1 << exponent_bits) - 1) << mantissa_bits; }

  // What a pattern without sign stands for. Infinity counts as the power of two that would come next.
  double magnitude(int pattern) const {
    const int exponent = pattern >> mantissa_bits;
    const int mantissa = pattern & ((1 << mantissa_bits) - 1);
    const int lowest = 2 - (1 << (exponent_bits - 1)) - mantissa_bits;  // of the last bit of a denormal
    return exponent == 0 ? std::ldexp(mantissa, lowest)
                         : std::ldexp((1 << mantissa_bits) + mantissa, lowest + exponent - 1);
  }

  double decode(std::uint16_t bits) const {
    const int pattern = bits & 0x7fff;
    double value = magnitude(pattern);
    if (pattern == infinity()) value = std::numeric_limits<double>::infinity();
    if (pattern > infinity()) value = std::numeric_limits<double>::quiet_NaN();
    return (bits & 0x8000) != 0 ? -value : value;
  }

  // The nearest pattern, found by bisection: magnitudes ascend with their patterns.
  std::uint16_t encode(double value) const {
    const int sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7fff);
    const double target = std::fabs(value);
    int low = 0, high = infinity();
    if (target >= magnitude(high)) return static_cast<std::uint16_t>(sign | high);
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (magnitude(middle) <= target ? low : high) = middle;
    }
    const double tie = (magnitude(low) + magnitude(high)) / 2;
    const bool up = target > tie || (target == tie && low % 2 == 1);
    return static_cast<std::uint16_t>(sign | (up ? high : low));
  }
};

inline constexpr HalfFormat kF16Format{5, 10};
inline constexpr HalfFormat kBF16Format{8, 7};

// Numbers of each sign and exponent of T, with mantissas that are random, or end in 1000..., 0111... or 1000...01 from
// each position on: ties wherever a narrower format cuts, and their neighbours.
template <class T, class Bits, int kMantissaBits>
std::vector<T> awkward_numbers(int exponent_step) {
  std::vector<T> numbers;
  std::mt19937_64 random(7);
  const Bits mantissas = (Bits{1} << kMantissaBits) - 1;
  const int exponents = 1 << (static_cast<int>(sizeof(T)) * 8 - 1 - kMantissaBits);
  for (int exponent = 0; exponent < 2 * exponents; exponent += exponent_step) {  // the upper half: with a sign
    const Bits base = static_cast<Bits>(exponent) << kMantissaBits;
    for (int bit = 0; bit < kMantissaBits; ++bit) {
      const Bits tie = (static_cast<Bits>(random()) << bit | Bits{1} << bit) & ~((Bits{1} << bit) - 1) & mantissas;
      for (const Bits mantissa : {tie, tie - 1, (tie + 1) & mantissas, static_cast<Bits>(random()) & mantissas})
        numbers.push_back(std::bit_cast<T>(base | mantissa));
    }
    numbers.push_back(std::bit_cast<T>(base));
    numbers.push_back(std::bit_cast<T>(base | mantissas));
  }
  return numbers;
}

inline std::vector<float> awkward_floats() {
  return awkward_numbers<float, std::uint32_t, 23>(1);
}
inline std::vector<double> awkward_doubles() {
  return awkward_numbers<double, std::uint64_t, 52>(3);
}

}  // namespace ronde::comm::math
