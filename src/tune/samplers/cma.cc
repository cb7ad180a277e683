#include "ronde/tune/samplers/cma.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ronde/tune/detail/normal.h"

namespace ronde::tune {
namespace {

using Vector = std::vector<double>;

double norm(const Vector& x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

}  // namespace

Cma::Cma(std::size_t dimensions, std::size_t population)
    : dimensions_(dimensions),
      population_(population > 0 ? population
                                 : 4 + static_cast<std::size_t>(3 * std::log(static_cast<double>(dimensions)))),
      parents_(population_ / 2),
      weights_(population_),
      mean_(dimensions, 0.5),
      path_sigma_(dimensions),
      path_c_(dimensions),
      sigma_(1.0 / 6),
      covariance_(Matrix::identity(dimensions)),
      eigen_{.values = Vector(dimensions, 1), .vectors = Matrix::identity(dimensions)} {
  const auto n = static_cast<double>(dimensions_);
  for (std::size_t i = 0; i < population_; ++i)
    weights_[i] = std::log((static_cast<double>(population_) + 1) / 2) - std::log(static_cast<double>(i) + 1);
  double positive = 0, positive_squares = 0, negative = 0, negative_squares = 0;
  for (std::size_t i = 0; i < population_; ++i) {
    (i < parents_ ? positive : negative) += weights_[i];
    (i < parents_ ? positive_squares : negative_squares) += weights_[i] * weights_[i];
  }
  effective_ = positive * positive / positive_squares;
  const double effective_negative = negative_squares > 0 ? negative * negative / negative_squares : 0;
  c_sigma_ = (effective_ + 2) / (n + effective_ + 5);
  d_sigma_ = 1 + 2 * std::max(0.0, std::sqrt((effective_ - 1) / (n + 1)) - 1) + c_sigma_;
  c_c_ = (4 + effective_ / n) / (n + 4 + 2 * effective_ / n);
  c_1_ = 2 / ((n + 1.3) * (n + 1.3) + effective_);
  c_mu_ = std::min(1 - c_1_, 2 * (0.25 + effective_ + 1 / effective_ - 2) / ((n + 2) * (n + 2) + effective_));
  expected_norm_ = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
  const double least =
      std::min({1 + c_1_ / c_mu_, 1 + 2 * effective_negative / (effective_ + 2), (1 - c_1_ - c_mu_) / (n * c_mu_)});
  for (std::size_t i = 0; i < population_; ++i)
    weights_[i] *= i < parents_ ? 1 / positive : (negative < 0 ? least / -negative : 0);
}

Vector Cma::draw(Random& random) const {
  const std::size_t tries = 10 * dimensions_;
  Vector point(dimensions_);
  for (std::size_t attempt = 0; attempt < tries; ++attempt) {
    Vector scaled(dimensions_);
    for (std::size_t k = 0; k < dimensions_; ++k) scaled[k] = std::sqrt(eigen_.values[k]) * draw_normal(random);
    for (std::size_t i = 0; i < dimensions_; ++i) {
      point[i] = mean_[i];
      for (std::size_t k = 0; k < dimensions_; ++k) point[i] += sigma_ * eigen_.vectors(i, k) * scaled[k];
    }
    if (std::ranges::all_of(point, [](double x) { return x >= 0 && x <= 1; })) return point;
  }
  for (double& x : point) x = std::clamp(x, 0.0, 1.0);
  return point;
}

Vector Cma::whitened(const Vector& step) const {
  Vector turned(dimensions_), result(dimensions_);
  for (std::size_t k = 0; k < dimensions_; ++k) {
    for (std::size_t i = 0; i < dimensions_; ++i) turned[k] += eigen_.vectors(i, k) * step[i];
    turned[k] /= std::sqrt(eigen_.values[k]);
  }
  for (std::size_t i = 0; i < dimensions_; ++i)
    for (std::size_t k = 0; k < dimensions_; ++k) result[i] += eigen_.vectors(i, k) * turned[k];
  return result;
}

void Cma::tell(const std::vector<Vector>& ranked) {
  std::vector<Vector> steps = ranked;
  for (Vector& step : steps)
    for (std::size_t i = 0; i < dimensions_; ++i) step[i] = (step[i] - mean_[i]) / sigma_;
  Vector mean_step(dimensions_);
  for (std::size_t r = 0; r < parents_; ++r)
    for (std::size_t i = 0; i < dimensions_; ++i) mean_step[i] += weights_[r] * steps[r][i];
  const Vector white = whitened(mean_step);
  ++generation_;
  for (std::size_t i = 0; i < dimensions_; ++i) {
    mean_[i] = std::clamp(mean_[i] + sigma_ * mean_step[i], 0.0, 1.0);
    path_sigma_[i] = (1 - c_sigma_) * path_sigma_[i] + std::sqrt(c_sigma_ * (2 - c_sigma_) * effective_) * white[i];
  }
  const double length = norm(path_sigma_);
  const double settled = length / std::sqrt(1 - std::pow(1 - c_sigma_, 2 * generation_));
  const bool is_slow = settled < (1.4 + 2 / (static_cast<double>(dimensions_) + 1)) * expected_norm_;
  for (std::size_t i = 0; i < dimensions_; ++i)
    path_c_[i] = (1 - c_c_) * path_c_[i] + (is_slow ? std::sqrt(c_c_ * (2 - c_c_) * effective_) * mean_step[i] : 0);
  adapt_covariance(steps, is_slow);
  sigma_ = std::min(sigma_ * std::exp(c_sigma_ / d_sigma_ * (length / expected_norm_ - 1)), 1.0);
}

void Cma::adapt_covariance(const std::vector<Vector>& steps, bool is_slow) {
  Vector weights = weights_;
  double sum = 0;
  for (std::size_t r = 0; r < population_; ++r) {
    sum += weights_[r];
    if (weights_[r] >= 0) continue;
    const double length = norm(whitened(steps[r]));
    weights[r] *= static_cast<double>(dimensions_) / std::max(length * length, 1e-12);
  }
  const double missing = is_slow ? 0 : c_1_ * c_c_ * (2 - c_c_);
  for (std::size_t i = 0; i < dimensions_; ++i)
    for (std::size_t j = 0; j < dimensions_; ++j) {
      double rank_mu = 0;
      for (std::size_t r = 0; r < population_; ++r) rank_mu += weights[r] * steps[r][i] * steps[r][j];
      covariance_(i, j) =
          (1 + missing - c_1_ - c_mu_ * sum) * covariance_(i, j) + c_1_ * path_c_[i] * path_c_[j] + c_mu_ * rank_mu;
    }
  eigen_ = symmetric_eigen(covariance_);
  for (double& value : eigen_.values) value = std::max(value, 1e-14);
}

}  // namespace ronde::tune
