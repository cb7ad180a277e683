#include "ronde/train/loop/noise_scale.h"

#include <algorithm>
#include <cmath>

#include "ronde/base/text/format.h"
#include "ronde/train/logging/progress_text.h"

namespace ronde::train {
namespace {

constexpr double kKept = 0.99;  // of the means, at each measurement

}  // namespace

NoiseSums noise_sums(double local, double reduced, double samples, double weight) {
  if (samples <= 0) return {.big = reduced};
  const double to_mean = 1 / (samples * weight);
  return {.small = local * to_mean * to_mean, .inverse = 1 / samples, .parts = 1, .big = reduced};
}

void NoiseScale::add(const NoiseSums& sums, double batch) {
  if (sums.parts <= 0 || !std::isfinite(sums.small) || !std::isfinite(sums.big)) return;
  // Parts need not be of one size: the mean of their squared norms has the mean of their 1 / size.
  const double small = sums.small / sums.parts, difference = sums.inverse / sums.parts - 1 / batch;
  if (difference <= 0) return;
  const double noise = (small - sums.big) / difference;
  noise_ = kKept * noise_ + (1 - kKept) * noise;
  signal_ = kKept * signal_ + (1 - kKept) * (sums.big - noise / batch);
}

std::optional<double> NoiseScale::value() const {
  if (signal_ <= 0) return {};
  return std::max(0.0, noise_ / signal_);
}

std::string noise_text(double scale) {
  const double samples = std::max(1.0, scale);
  const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(samples)) - 1));
  return fmt::format("batches up to about {} would still train efficiently",
                     grouped(std::llround(samples / unit) * std::llround(unit)));
}

}  // namespace ronde::train
