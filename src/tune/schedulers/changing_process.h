#pragma once

#include <span>
#include <vector>

#include "ronde/tune/samplers/linear.h"

namespace ronde::tune {

// How much a score grows per time, which depends on parameters and changes with time: a Gaussian process with the
// kernel v exp(-d^2 / l) (1 - e)^(|t - t'| / 2), as PB2 has it (arXiv 2002.02518). A plain value; all is pure.
class ChangingProcess {
 public:
  struct Place {
    double time = 0;                 // in intervals
    double score = 0;                // before
    std::vector<double> point = {};  // parameters, each from 0 to 1
  };
  struct Row {
    Place place;
    double growth = 0;
  };

  // `running`: places whose growth is not known yet; they make their surroundings less uncertain.
  // REQUIRES: at least one row.
  ChangingProcess(std::span<const Row> rows, std::span<const Place> running);

  struct Prediction {
    double mean = 0, variance = 0;  // of the standardised growth
  };
  Prediction predict(const Place& at) const;

  // The parameters with the highest upper confidence bound at that time and score, found from each of the starts.
  std::vector<double> most_promising(double time, double score, std::span<const std::vector<double>> starts) const;

 private:
  struct Scales {
    double variance = 1, length = 1, forgetting = 0.1, noise = 0.01;
  };
  // Rows alone, or rows and what runs; factored.
  struct Fit {
    std::vector<Place> places = {};
    Matrix lower = Matrix(0);
  };

  Place scaled(Place place) const;
  double kernel(const Place& a, const Place& b, const Scales& scales) const;
  Fit fit(std::vector<Place> places, const Scales& scales) const;
  double unlikeliness(const std::vector<double>& logs) const;  // the negative logarithm of the rows' likelihood
  static Scales scales_of(const std::vector<double>& logs);

  double lowest_ = 0, range_ = 1;  // of scores
  std::vector<double> growth_;     // standardised, at most 2 from their mean
  Scales scales_;
  Fit known_, all_;
  std::vector<double> weights_;
};

}  // namespace ronde::tune
