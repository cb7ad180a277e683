#pragma once

#include <cmath>
#include <numbers>

#include "ronde/base/math/random.h"

// The standard normal variable.
namespace ronde::tune {

// By Box and Muller.
inline double draw_normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform_double()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform_double());
}

// How likely it is below x. erfc keeps its digits far out, where 1 - erf has none.
inline double normal_below(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

inline double normal_density(double x) {
  return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
}

}  // namespace ronde::tune
