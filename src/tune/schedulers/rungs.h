#pragma once

#include <cmath>
#include <vector>

namespace ronde::tune {

// The times at which successive halving looks: grace * factor^(k + s) for bracket s, up to `longest`. Computed with
// integers where they are: a logarithm in floating point would lose the last rung of 243 by 3, or of 1000 by 10.
inline std::vector<double> rung_times(double grace, double longest, double factor, int bracket) {
  std::vector<double> times;
  for (double time = grace * std::pow(factor, bracket); time <= longest * (1 + 1e-12); time *= factor)
    times.push_back(time);
  return times;
}

}  // namespace ronde::tune
