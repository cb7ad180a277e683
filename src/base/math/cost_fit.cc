#include "ronde/base/math/cost_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ronde/base/error.h"

namespace ronde {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void check(std::span<const CostPoint> points) {
  for (const CostPoint& point : points)
    if (!(point.us > 0) || !std::isfinite(point.us) || !(point.bytes >= 0) || !std::isfinite(point.bytes))
      throw Error::bad_input("cannot fit a cost to a measurement of {} bytes in {} us", point.bytes, point.us);
  const auto other = [&](const CostPoint& point) { return point.bytes != points.front().bytes; };
  if (std::ranges::none_of(points, other))
    throw Error::bad_input("latency and bandwidth need measurements of at least two sizes, got {} of one size",
                           points.size() == 1 ? "a measurement" : "measurements");
}

// By which share of its time each point is off, half as much counting like twice as much.
std::vector<double> errors_of(const CostFit& fit, std::span<const CostPoint> points) {
  std::vector<double> errors;
  for (const CostPoint& point : points)
    errors.push_back(std::abs(std::log(std::max(fit.us(point.bytes), 1e-12) / point.us)));
  return errors;
}

// The line through two of the points that is nearest to half of them: whatever the other half says. It is where the
// search for the best one begins, which from elsewhere may be drawn to what is far off.
CostFit first_guess(std::span<const CostPoint> points) {
  constexpr std::size_t kMostPoints = 64;  // that are paired
  const std::size_t stride = (points.size() + kMostPoints - 1) / kMostPoints;
  CostFit best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < points.size(); i += stride)
    for (std::size_t j = 0; j < i; j += stride) {
      if (points[i].bytes == points[j].bytes) continue;
      CostFit fit;
      fit.us_per_byte = std::max(0.0, (points[i].us - points[j].us) / (points[i].bytes - points[j].bytes));
      fit.latency_us = std::max(0.0, points[i].us - points[i].bytes * fit.us_per_byte);
      const double error = median(errors_of(fit, points));
      if (error < least) best = fit, least = error;
    }
  return best;
}

// Minimises the weighted squares of the residuals, with neither part below zero: then one of them is zero.
CostFit fit_weighted(std::span<const CostPoint> points, std::span<const double> weights) {
  double aa = 0, ab = 0, bb = 0, a = 0, b = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double x = 1 / points[i].us, y = points[i].bytes / points[i].us;
    aa += weights[i] * x * x;
    ab += weights[i] * x * y;
    bb += weights[i] * y * y;
    a += weights[i] * x;
    b += weights[i] * y;
  }
  const double determinant = aa * bb - ab * ab;
  CostFit fit;
  if (determinant > 1e-12 * aa * bb) {
    fit.latency_us = (a * bb - b * ab) / determinant;
    fit.us_per_byte = (b * aa - a * ab) / determinant;
    if (fit.latency_us >= 0 && fit.us_per_byte >= 0) return fit;
  }
  const bool no_latency = fit.latency_us < 0 && bb > 0;
  return {.latency_us = no_latency ? 0 : a / aa, .us_per_byte = no_latency ? b / bb : 0};
}

}  // namespace

CostFit fit_cost(std::span<const CostPoint> points) {
  if (points.empty()) throw Error::bad_input("latency and bandwidth need measurements of at least two sizes, got none");
  check(points);
  constexpr int kRounds = 50;
  constexpr double kLeastScale = 1e-3;  // a thousandth is as good as exact
  CostFit fit = first_guess(points);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> weights = errors_of(fit, points);
    // Twice the usual error counts a fifth, ten times a hundredth.
    const double scale = std::max(kLeastScale, median(weights));
    for (double& weight : weights) weight = 1 / (1 + (weight / scale) * (weight / scale));
    fit = fit_weighted(points, weights);
  }
  fit.error = median(errors_of(fit, points));
  return fit;
}

}  // namespace ronde
