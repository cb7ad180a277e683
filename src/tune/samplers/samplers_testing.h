#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "ronde/tune/search.h"

// Searches for the least value of functions that are known, for tests.
namespace ronde::tune::tests {

struct Problem {
  Json space;
  double (*value)(const Json& config);
};

inline Json dimensions(int count, double low, double high) {
  Json space = Json::object();
  for (int i = 0; i < count; ++i) space["x" + std::to_string(i)] = {{"uniform", {low, high}}};
  return space;
}

inline std::vector<double> coordinates(const Json& config) {
  std::vector<double> x;
  for (const auto& [name, value] : config.items()) x.push_back(value.get<double>());
  return x;
}

// Least: 0.397887.
inline const Problem kBranin = {{{"x", {{"uniform", {-5, 10}}}}, {"y", {{"uniform", {0, 15}}}}},
                                [](const Json& config) {
                                  const auto x = config["x"].get<double>(), y = config["y"].get<double>();
                                  const double a = y - 5.1 / (4 * M_PI * M_PI) * x * x + 5 / M_PI * x - 6;
                                  return a * a + 10 * (1 - 1 / (8 * M_PI)) * std::cos(x) + 10;
                                }};

// Least: -3.32237.
inline const Problem kHartmann6 = {
    dimensions(6, 0, 1), [](const Json& config) {
      constexpr double kAlpha[] = {1, 1.2, 3, 3.2};
      constexpr double kA[][6] = {
          {10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}};
      constexpr double kP[][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                                  {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                                  {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                                  {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
      const auto x = coordinates(config);
      double sum = 0;
      for (int i = 0; i < 4; ++i) {
        double inner = 0;
        for (std::size_t j = 0; j < 6; ++j) inner += kA[i][j] * std::pow(x[j] - kP[i][j], 2);
        sum -= kAlpha[i] * std::exp(-inner);
      }
      return sum;
    }};

// Least: 0, at (1, ..., 1).
inline const Problem kRosenbrock5 = {dimensions(5, -5, 10), [](const Json& config) {
                                       const auto x = coordinates(config);
                                       double sum = 0;
                                       for (std::size_t i = 0; i + 1 < x.size(); ++i)
                                         sum += 100 * std::pow(x[i + 1] - x[i] * x[i], 2) + std::pow(1 - x[i], 2);
                                       return sum;
                                     }};

// Runs one trial after the other, without a scheduler. Their losses.
inline std::vector<double> losses(const Problem& problem, const std::string& sampler, std::uint64_t seed, int trials,
                                  Json sampler_options = Json::object()) {
  SearchOptions options;
  options.space = problem.space;
  options.metric = "loss";
  options.mode = "min";
  options.sampler = sampler;
  options.sampler_options = std::move(sampler_options);
  options.seed = seed;
  options.samples = trials;
  Search search(options);
  std::vector<double> all;
  for (Search::Next next = search.next(); next.trial >= 0; next = search.next()) {
    all.push_back(problem.value(search.trials()[static_cast<std::size_t>(next.trial)].config));
    Json result = {{"loss", all.back()}};
    search.report(next.trial, result, 1);
    search.ended(next.trial);
  }
  return all;
}

// The median, over so many seeds, of the least loss.
inline double median_least(const Problem& problem, const std::string& sampler, int seeds, int trials,
                           const Json& sampler_options = Json::object()) {
  std::vector<double> least;
  for (int seed = 0; seed < seeds; ++seed)
    least.push_back(
        std::ranges::min(losses(problem, sampler, static_cast<std::uint64_t>(seed), trials, sampler_options)));
  std::ranges::nth_element(least, least.begin() + seeds / 2);
  return least[static_cast<std::size_t>(seeds) / 2];
}

}  // namespace ronde::tune::tests
