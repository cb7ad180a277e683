#include "ronde/tune/page/importance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ronde::tune {
namespace {

constexpr std::size_t kCells = 50;
constexpr double kBest = 0.1;
constexpr std::size_t kLeastTrials = 20;

double deviation_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double square = 0;
  for (const double value : values) square += (value - mean) * (value - mean) / count;
  return std::sqrt(square);
}

double quartile_range(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double part) {
    const double place = part * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
  };
  return at(0.75) - at(0.25);
}

// Shares per cell, with one component that is spread over all of them.
std::vector<double> with_prior(std::vector<double> counts, double total) {
  const auto cells = static_cast<double>(counts.size());
  for (double& count : counts) count = (count + 1 / cells) / (total + 1);
  return counts;
}

// `cells`: places of values on the grid, 0 to kCells - 1.
std::vector<double> density_of_numbers(const std::vector<double>& cells) {
  const auto count = static_cast<double>(cells.size());
  const double spread = std::min(quartile_range(cells) / 1.34, deviation_of(cells));
  const double width = std::max(1.059 * spread * std::pow(count, -0.2), 0.305);
  std::vector<double> density(kCells);
  for (const double cell : cells) {
    std::vector<double> kernel(kCells);
    for (std::size_t i = 0; i < kCells; ++i) {
      const double away = (static_cast<double>(i) - cell) / width;
      kernel[i] = std::exp(-away * away / 2);
    }
    const double sum = std::accumulate(kernel.begin(), kernel.end(), 0.0);
    for (std::size_t i = 0; i < kCells; ++i) density[i] += kernel[i] / sum;
  }
  return with_prior(std::move(density), count);
}

std::vector<double> density_of_choices(const std::vector<double>& values, std::size_t choices) {
  std::vector<double> counts(choices);
  for (const double value : values) counts[std::min(static_cast<std::size_t>(value), choices - 1)] += 1;
  return with_prior(std::move(counts), static_cast<double>(values.size()));
}

// How far the density of the best is from that of all.
double distance(const std::vector<double>& best, const std::vector<double>& all) {
  double sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) sum += all[i] * std::pow(best[i] / all[i] - 1, 2);
  return sum;
}

double told_by(const Column& column, const std::vector<double>& losses) {
  std::vector<std::size_t> trials;
  for (std::size_t i = 0; i < losses.size(); ++i)
    if (std::isfinite(losses[i]) && std::isfinite(column.values[i])) trials.push_back(i);
  if (trials.size() < kLeastTrials) return 0;
  std::ranges::stable_sort(trials, {}, [&](std::size_t trial) { return losses[trial]; });
  const auto best_count = static_cast<std::size_t>(std::ceil(kBest * static_cast<double>(trials.size())));
  std::vector<double> all, best;
  for (const std::size_t trial : trials) all.push_back(column.values[trial]);
  const auto [low, high] = std::ranges::minmax(all);
  if (!(high > low)) return 0;
  if (column.choices == 0)
    for (double& value : all) value = std::round((value - low) / (high - low) * static_cast<double>(kCells - 1));
  best.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(best_count));
  const double found =
      column.choices == 0 ? distance(density_of_numbers(best), density_of_numbers(all))
                          : distance(density_of_choices(best, column.choices), density_of_choices(all, column.choices));
  const double share = static_cast<double>(best_count) / static_cast<double>(trials.size());
  return share * share * found;
}

}  // namespace

std::vector<double> importance(const std::vector<Column>& columns, const std::vector<double>& losses) {
  std::vector<double> shares;
  for (const Column& column : columns) shares.push_back(told_by(column, losses));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (sum > 0)
    for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace ronde::tune
