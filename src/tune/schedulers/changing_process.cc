#include "ronde/tune/schedulers/changing_process.h"

#include <algorithm>
#include <cmath>

#include "ronde/tune/samplers/minimise.h"

namespace ronde::tune {
namespace {

constexpr double kMostDeviations = 2;
constexpr double kJitter = 1e-8;

// Differences in place of a gradient: there are few variables.
Objective with_slopes(const std::function<double(const std::vector<double>&)>& function) {
  return [function](const std::vector<double>& at, std::vector<double>& gradient) {
    constexpr double kStep = 1e-5;
    const double value = function(at);
    gradient.resize(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) {
      std::vector<double> beside = at;
      beside[i] += kStep;
      gradient[i] = (function(beside) - value) / kStep;
    }
    return value;
  };
}

std::vector<double> standardised(std::vector<double> values) {
  double mean = 0, square = 0;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) mean += value / count;
  for (const double value : values) square += (value - mean) * (value - mean) / count;
  const double deviation = square > 0 ? std::sqrt(square) : 1;
  for (double& value : values) value = std::clamp((value - mean) / deviation, -kMostDeviations, kMostDeviations);
  return values;
}

}  // namespace

ChangingProcess::ChangingProcess(std::span<const Row> rows, std::span<const Place> running) {
  const auto [least, most] = std::ranges::minmax(rows, {}, [](const Row& row) { return row.place.score; });
  lowest_ = least.place.score;
  if (most.place.score > lowest_) range_ = most.place.score - lowest_;
  std::vector<Place> places;
  for (const Row& row : rows) {
    places.push_back(scaled(row.place));
    growth_.push_back(row.growth);
  }
  growth_ = standardised(std::move(growth_));
  known_.places = places;
  // Logarithms of variance, length, forgetting and noise.
  const Box box{{-3, -4, -7, -7}, {3, 3, -0.1, 0}};
  const auto objective = [this](const std::vector<double>& logs) { return unlikeliness(logs); };
  scales_ = scales_of(minimise(with_slopes(objective), {0, 0, std::log(0.1), std::log(0.01)}, box, {.iterations = 15}));
  known_ = fit(places, scales_);
  weights_ = solve_upper(known_.lower, solve_lower(known_.lower, growth_));
  for (const Place& place : running) places.push_back(scaled(place));
  all_ = fit(std::move(places), scales_);
}

ChangingProcess::Scales ChangingProcess::scales_of(const std::vector<double>& logs) {
  return {std::exp(logs[0]), std::exp(logs[1]), std::exp(logs[2]), std::exp(logs[3])};
}

ChangingProcess::Place ChangingProcess::scaled(Place place) const {
  place.score = (place.score - lowest_) / range_;
  return place;
}

double ChangingProcess::kernel(const Place& a, const Place& b, const Scales& scales) const {
  double squared = (a.score - b.score) * (a.score - b.score);
  for (std::size_t i = 0; i < a.point.size(); ++i) squared += (a.point[i] - b.point[i]) * (a.point[i] - b.point[i]);
  return scales.variance * std::exp(-squared / scales.length) *
         std::pow(1 - scales.forgetting, std::abs(a.time - b.time) / 2);
}

ChangingProcess::Fit ChangingProcess::fit(std::vector<Place> places, const Scales& scales) const {
  Matrix matrix(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) matrix(i, j) = matrix(j, i) = kernel(places[i], places[j], scales);
    matrix(i, i) += scales.noise + kJitter;
  }
  auto lower = cholesky(matrix);
  return {std::move(places), lower ? std::move(*lower) : Matrix(0)};
}

double ChangingProcess::unlikeliness(const std::vector<double>& logs) const {
  const Fit tried = fit(known_.places, scales_of(logs));
  if (tried.lower.size() == 0) return 1e300;
  const std::vector<double> half = solve_lower(tried.lower, growth_);
  double sum = 0;
  for (std::size_t i = 0; i < half.size(); ++i) sum += half[i] * half[i] / 2 + std::log(tried.lower(i, i));
  return sum;
}

ChangingProcess::Prediction ChangingProcess::predict(const Place& at) const {
  const Place place = scaled(at);
  const auto row_of = [&](const Fit& to) {
    std::vector<double> row;
    for (const Place& one : to.places) row.push_back(kernel(one, place, scales_));
    return row;
  };
  Prediction prediction;
  const std::vector<double> near = row_of(known_);
  for (std::size_t i = 0; i < near.size(); ++i) prediction.mean += near[i] * weights_[i];
  prediction.variance = scales_.variance;
  for (const double part : solve_lower(all_.lower, row_of(all_))) prediction.variance -= part * part;
  prediction.variance = std::max(prediction.variance, 0.0);
  return prediction;
}

std::vector<double> ChangingProcess::most_promising(double time, double score,
                                                    std::span<const std::vector<double>> starts) const {
  const double kappa = std::sqrt(0.2 + std::max(0.0, std::log(0.4 * static_cast<double>(growth_.size()))));
  const auto loss = [&](const std::vector<double>& point) {
    const Prediction found = predict({time, score, point});
    return -(found.mean + kappa * found.variance);
  };
  std::vector<double> best;
  double least = 0;
  for (const std::vector<double>& start : starts) {
    const Box box{std::vector<double>(start.size(), 0), std::vector<double>(start.size(), 1)};
    std::vector<double> found = minimise(with_slopes(loss), start, box);
    const double here = loss(found);
    if (best.empty() || here < least) {
      best = std::move(found);
      least = here;
    }
  }
  return best;
}

}  // namespace ronde::tune
