#pragma once

#include <span>
#include <vector>

#include "ronde/tune/samplers/linear.h"
#include "ronde/tune/samplers/minimise.h"

namespace ronde::tune {

// What is known of a function at some points of the unit cube: a Gaussian process with a Matern 5/2 kernel and a length
// scale per dimension; in a dimension of categories, two points are equal or not. How smooth it is and how noisy is
// fitted to the values, with Optuna's priors. Values are best standardised. A plain value; any thread may ask it.
class GaussianProcess {
 public:
  // REQUIRES: as many values as points, at least one; `is_category`: one per dimension.
  GaussianProcess(std::vector<std::vector<double>> points, std::vector<double> values, std::vector<bool> is_category);

  struct Prediction {
    double mean = 0, deviation = 0;
    std::vector<double> mean_slope = {}, deviation_slope = {};  // by dimension; 0 for categories
  };
  Prediction predict(std::span<const double> at, bool with_slopes = false) const;

  // Takes one more point for granted, without another fit.
  void add(std::vector<double> point, double value);

  std::span<const double> inverse_squared_lengths() const { return inverse_; }
  double noise() const { return noise_; }

 private:
  void fit();
  double posterior(const std::vector<double>& logs, std::vector<double>& gradient) const;
  double squared_distance(std::span<const double> a, std::span<const double> b, std::span<const double> inverse) const;
  void factor();

  std::vector<std::vector<double>> points_;
  std::vector<double> values_;
  std::vector<bool> is_category_;
  std::vector<double> inverse_;  // of the squared length scale, by dimension
  double scale_ = 1, noise_ = 1e-2;
  Matrix lower_;  // of the kernel matrix
  std::vector<double> weights_;
};

// The logarithm of how much a normal variable falls below `best` on average. Pure.
struct Improvement {
  double log = 0;
  double by_mean = 0, by_deviation = 0;  // its derivatives
};
Improvement log_expected_improvement(double best, double mean, double deviation);

}  // namespace ronde::tune
