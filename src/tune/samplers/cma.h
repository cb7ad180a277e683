#pragma once

#include <cstddef>
#include <vector>

#include "ronde/tune/samplers/linear.h"

namespace ronde {
class Random;
}

namespace ronde::tune {

// Covariance matrix adaptation with active updates and the constants of Hansen's tutorial (arXiv 1604.00772): a normal
// distribution over the unit cube that moves, stretches and shrinks towards what was good. A plain value.
class Cma {
 public:
  // `population` 0: 4 + floor(3 ln dimensions).
  explicit Cma(std::size_t dimensions, std::size_t population = 0);

  std::size_t population() const { return population_; }
  const std::vector<double>& mean() const { return mean_; }
  double sigma() const { return sigma_; }

  // A point of the cube: what falls outside is drawn again a few times, then moved to its surface.
  std::vector<double> draw(Random& random) const;
  // Learns from one generation, the best point first. REQUIRES: population() points.
  void tell(const std::vector<std::vector<double>>& ranked);

 private:
  std::vector<double> whitened(const std::vector<double>& step) const;  // C^(-1/2) step
  void adapt_covariance(const std::vector<std::vector<double>>& steps, bool is_slow);

  std::size_t dimensions_, population_, parents_;
  std::vector<double> weights_;  // of ranks; the last are negative
  double effective_, c_sigma_, d_sigma_, c_c_, c_1_, c_mu_, expected_norm_;
  std::vector<double> mean_, path_sigma_, path_c_;
  double sigma_;
  Matrix covariance_;
  Eigen eigen_;
  int generation_ = 0;
};

}  // namespace ronde::tune
