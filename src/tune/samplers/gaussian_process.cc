#include "ronde/tune/samplers/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "ronde/tune/detail/normal.h"

namespace ronde::tune {
namespace {

constexpr double kLeastNoise = 1e-6;
constexpr double kSqrt5 = 2.23606797749979;

// Matern 5/2 of a squared distance, and its derivative.
std::pair<double, double> matern(double squared) {
  const double root = kSqrt5 * std::sqrt(std::max(squared, 0.0)), decay = std::exp(-root);
  return {(1 + root + 5.0 / 3 * squared) * decay, -5.0 / 6 * (1 + root) * decay};
}

}  // namespace

GaussianProcess::GaussianProcess(std::vector<std::vector<double>> points, std::vector<double> values,
                                 std::vector<bool> is_category)
    : points_(std::move(points)),
      values_(std::move(values)),
      is_category_(std::move(is_category)),
      inverse_(is_category_.size(), 1) {
  fit();
  factor();
}

double GaussianProcess::squared_distance(std::span<const double> a, std::span<const double> b,
                                         std::span<const double> inverse) const {
  double sum = 0;
  for (std::size_t d = 0; d < inverse.size(); ++d) {
    const double distance = is_category_[d] ? (a[d] != b[d] ? 1 : 0) : a[d] - b[d];
    sum += inverse[d] * distance * distance;
  }
  return sum;
}

// Minus the logarithm of likelihood times priors. `logs`: of the inverse squared lengths, the scale and the noise.
double GaussianProcess::posterior(const std::vector<double>& logs, std::vector<double>& gradient) const {
  const std::size_t n = points_.size(), dimensions = inverse_.size();
  std::vector<double> inverse_lengths(dimensions);
  for (std::size_t d = 0; d < dimensions; ++d) inverse_lengths[d] = std::exp(logs[d]);
  const double scale = std::exp(logs[dimensions]), noise = std::exp(logs[dimensions + 1]);
  Matrix kernel(n), slope(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const auto [value, derivative] = matern(squared_distance(points_[i], points_[j], inverse_lengths));
      kernel(i, j) = scale * value + (i == j ? noise : 0);
      slope(i, j) = scale * derivative;
    }
  const auto lower = cholesky(kernel);
  if (!lower) return HUGE_VAL;
  const std::vector<double> half = solve_lower(*lower, values_), weights = solve_upper(*lower, half);
  double result = std::inner_product(half.begin(), half.end(), half.begin(), 0.0) / 2;
  for (std::size_t i = 0; i < n; ++i) result += std::log((*lower)(i, i));
  // d/dtheta = sum over i, j of (K^-1 - w w^T)_ij dK_ij / 2; both halves are the same.
  const Matrix inverse = inverse_from(*lower);
  std::ranges::fill(gradient, 0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const double part = (inverse(i, j) - weights[i] * weights[j]) * (i == j ? 0.5 : 1);
      gradient[dimensions] += part * (kernel(i, j) - (i == j ? noise : 0));
      if (i == j) {
        gradient[dimensions + 1] += part * noise;
        continue;
      }
      for (std::size_t d = 0; d < dimensions; ++d) {
        const double distance =
            is_category_[d] ? (points_[i][d] != points_[j][d] ? 1 : 0) : points_[i][d] - points_[j][d];
        gradient[d] += part * slope(i, j) * inverse_lengths[d] * distance * distance;
      }
    }
  for (std::size_t d = 0; d < dimensions; ++d) {
    const double a = inverse_lengths[d];
    result += 0.1 / a + 0.1 * a;
    gradient[d] += -0.1 / a + 0.1 * a;
  }
  result += scale - std::log(scale) + 30 * noise - 0.1 * std::log(noise);  // Gamma(2, 1) and Gamma(1.1, 30)
  gradient[dimensions] += scale - 1;
  gradient[dimensions + 1] += 30 * noise - 0.1;
  return result;
}

void GaussianProcess::fit() {
  const std::size_t dimensions = inverse_.size();
  std::vector<double> start(dimensions + 2, 0.0);
  start.back() = std::log(1e-2);
  Box box{.low = std::vector<double>(dimensions + 2, -7), .high = std::vector<double>(dimensions + 2, 7)};
  box.low.back() = std::log(kLeastNoise);
  box.high.back() = 0;
  const Objective objective = [this](const std::vector<double>& at, std::vector<double>& gradient) {
    return posterior(at, gradient);
  };
  const std::vector<double> found = minimise(objective, start, box, {.iterations = 60, .tolerance = 1e-2});
  for (std::size_t d = 0; d < dimensions; ++d) inverse_[d] = std::exp(found[d]);
  scale_ = std::exp(found[dimensions]);
  noise_ = std::exp(found[dimensions + 1]);
}

void GaussianProcess::factor() {
  const std::size_t n = points_.size();
  Matrix kernel(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      kernel(i, j) = scale_ * matern(squared_distance(points_[i], points_[j], inverse_)).first;
  std::optional<Matrix> lower;
  for (double noise = noise_; !lower; noise *= 10) {  // points that are all but equal may need more
    Matrix noisy = kernel;
    for (std::size_t i = 0; i < n; ++i) noisy(i, i) += noise;
    lower = cholesky(noisy);
  }
  lower_ = *std::move(lower);
  weights_ = solve_upper(lower_, solve_lower(lower_, values_));
}

void GaussianProcess::add(std::vector<double> point, double value) {
  points_.push_back(std::move(point));
  values_.push_back(value);
  factor();
}

GaussianProcess::Prediction GaussianProcess::predict(std::span<const double> at, bool with_slopes) const {
  const std::size_t n = points_.size();
  std::vector<double> near(n), slope(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto [value, derivative] = matern(squared_distance(at, points_[i], inverse_));
    near[i] = scale_ * value;
    slope[i] = scale_ * derivative;
  }
  Prediction result;
  const std::vector<double> half = solve_lower(lower_, near);
  for (std::size_t i = 0; i < n; ++i) result.mean += weights_[i] * near[i];
  const double variance = scale_ - std::inner_product(half.begin(), half.end(), half.begin(), 0.0);
  result.deviation = std::sqrt(std::max(variance, 1e-12));
  if (!with_slopes) return result;
  const std::vector<double> solved = solve_upper(lower_, half);
  result.mean_slope.resize(at.size());
  result.deviation_slope.resize(at.size());
  for (std::size_t d = 0; d < at.size(); ++d) {
    if (is_category_[d]) continue;
    for (std::size_t i = 0; i < n; ++i) {
      const double change = slope[i] * 2 * inverse_[d] * (at[d] - points_[i][d]);
      result.mean_slope[d] += weights_[i] * change;
      result.deviation_slope[d] -= solved[i] * change / result.deviation;
    }
  }
  return result;
}

Improvement log_expected_improvement(double best, double mean, double deviation) {
  const double z = (best - mean) / deviation;
  // z Phi(z) + phi(z); far out, where the two cancel, its asymptote phi(z) / z^2 (1 - 3 / z^2).
  constexpr double kFar = -8;
  double log_part = 0, below_share = 0, density_share = 0;  // of Phi and phi in it
  if (z > kFar) {
    const double part = z * normal_below(z) + normal_density(z);
    log_part = std::log(part);
    below_share = normal_below(z) / part;
    density_share = normal_density(z) / part;
  } else {
    log_part = -z * z / 2 - 0.918938533204673 - 2 * std::log(-z) + std::log1p(-3 / (z * z));
    below_share = -z;
    density_share = z * z;
  }
  return {.log = log_part + std::log(deviation),
          .by_mean = -below_share / deviation,
          .by_deviation = density_share / deviation};
}

}  // namespace ronde::tune
