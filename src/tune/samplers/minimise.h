#pragma once

#include <functional>
#include <vector>

namespace ronde::tune {

// A function of several variables, which also gives its gradient.
using Objective = std::function<double(const std::vector<double>& at, std::vector<double>& gradient)>;

struct Box {
  std::vector<double> low, high;
};

struct MinimiseOptions {
  int iterations = 50;
  double tolerance = 1e-4;  // of the gradient's largest component, where the box lets it be followed
};

// A local minimum inside of a box, from `start` on, by L-BFGS with projected steps. Never worse than `start`. Pure.
std::vector<double> minimise(const Objective& objective, std::vector<double> start, const Box& box,
                             const MinimiseOptions& options = {});

}  // namespace ronde::tune
