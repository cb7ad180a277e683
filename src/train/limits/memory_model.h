#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// Memory of a training step for any batch, from what it was for two small ones. Everything here is pure.
namespace ronde::train {

// A quantity that grows with the samples of a pass.
struct Line {
  double fixed = 0, per_sample = 0;
  double at(std::int64_t samples) const { return fixed + per_sample * static_cast<double>(samples); }

  // Through two points of different numbers of samples; one that does not grow is level, at the higher of the two.
  using Point = std::pair<std::int64_t, double>;
  static Line through(Point few, Point more);
};

// What a training step uses, one operation after the other: a line each. Where the most is used depends on the batch:
// where all gradients are there when it is small, where all activations are when it is large.
struct StepMemory {
  std::vector<Line> places = {};

  std::uint64_t peak(std::int64_t samples) const;
  // The most samples a pass that fit into so many bytes; 0: not even one.
  std::int64_t largest(double bytes) const;
};

// `few` and `more`: the peaks of one operation after the other in steps of so many samples a pass. Where the two steps
// did not do the same operations, all that is known is the highest of each.
// REQUIRES: neither is empty; few_samples < more_samples.
StepMemory fit_step(std::span<const double> few, std::int64_t few_samples, std::span<const double> more,
                    std::int64_t more_samples);

}  // namespace ronde::train
