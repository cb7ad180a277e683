#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "ronde/tune/space/space.h"

namespace ronde::tune {

// A density over values of several parameters: one component per observation and a wide one, the prior, as Optuna's
// tree-structured Parzen estimator has it. Numbers are truncated normal variables, whose width is the distance to their
// neighbours; choices are weights. A plain value.
class Parzen {
 public:
  // `observed`: one set of values per observation, oldest first; each has all of `parameters`.
  Parzen(std::span<const Space::Parameter> parameters, std::span<const std::map<std::string, Json>* const> observed);

  // One set of values: of a component drawn by weight, each parameter by itself.
  std::vector<double> draw(Random& random) const;
  // The logarithm of the density there.
  double log_density(std::span<const double> point) const;

  // A value as a coordinate (its logarithm, the number of a choice), and back.
  static double coordinate(const Domain& domain, const Json& value);
  static Json value(const Domain& domain, double coordinate);

 private:
  struct Dimension {
    Domain domain;
    double low = 0, high = 0;           // numbers: where the density ends
    std::vector<double> centre, width;  // by component
    std::vector<double> log_mass;       // of a normal variable, between low and high
    std::vector<double> chances;        // choices: by component and choice
  };

  void add_numbers(Dimension& dimension, std::span<const std::map<std::string, Json>* const> observed,
                   const std::string& path) const;
  void add_choices(Dimension& dimension, std::span<const std::map<std::string, Json>* const> observed,
                   const std::string& path) const;

  std::vector<Dimension> dimensions_;
  std::vector<double> log_weight_, weight_;
};

// Weights of `count` observations by age, oldest first: all 1 up to 25; beyond, the oldest ramp up to 1. Pure.
std::vector<double> weights_by_age(std::size_t count);

}  // namespace ronde::tune
