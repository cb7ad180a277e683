#include "ronde/train/limits/memory_model.h"

#include <algorithm>
#include <cmath>

namespace ronde::train {
namespace {

// Beyond this nobody asks, and doubles no longer count one by one.
constexpr double kMostSamples = 1e12;

}  // namespace

Line Line::through(Point few, Point more) {
  const double slope = (more.second - few.second) / static_cast<double>(more.first - few.first);
  if (slope <= 0) return {.fixed = std::max(few.second, more.second)};
  // What is not there for no samples at all is rounding: memory comes in whole cache lines.
  const double fixed = std::max(0.0, few.second - slope * static_cast<double>(few.first));
  return {.fixed = fixed, .per_sample = slope};
}

std::uint64_t StepMemory::peak(std::int64_t samples) const {
  double most = 0;
  for (const Line& place : places) most = std::max(most, place.at(samples));
  return static_cast<std::uint64_t>(std::llround(most));
}

std::int64_t StepMemory::largest(double bytes) const {
  double samples = kMostSamples;
  for (const Line& place : places) {
    if (place.fixed > bytes) return 0;
    if (place.per_sample > 0) samples = std::min(samples, (bytes - place.fixed) / place.per_sample);
  }
  return static_cast<std::int64_t>(samples);
}

StepMemory fit_step(std::span<const double> few, std::int64_t few_samples, std::span<const double> more,
                    std::int64_t more_samples) {
  StepMemory step;
  if (few.size() != more.size()) {
    step.places.push_back(Line::through({few_samples, std::ranges::max(few)}, {more_samples, std::ranges::max(more)}));
    return step;
  }
  for (std::size_t i = 0; i < few.size(); ++i)
    step.places.push_back(Line::through({few_samples, few[i]}, {more_samples, more[i]}));
  return step;
}

}  // namespace ronde::train
