#include <algorithm>
#include <cmath>
#include <limits>

#include "ronde/tune/samplers/cube.h"
#include "ronde/tune/samplers/gaussian_process.h"
#include "ronde/tune/samplers/sobol.h"
#include "ronde/tune/schedulers/scheduler.h"

// A Gaussian process of the losses so far, and the point from which the most improvement is expected. Parameters that
// depend on a choice are drawn at random.
namespace ronde::tune {
namespace {

constexpr std::size_t kMostPoints = 300;  // that a process is fitted to: its time grows with their third power
constexpr std::uint32_t kCandidates = 1024;
constexpr std::size_t kSearches = 5;
constexpr std::size_t kMostTried = 16;  // values of a parameter in a local search

using Point = std::vector<double>;

struct Known {
  std::vector<Point> points;
  std::vector<double> losses;
  std::vector<Point> running;
};

// Long tails are drawn in, so that what is good is told apart; then mean 0 and deviation 1.
std::vector<double> standardised(std::vector<double> losses) {
  std::vector<double> sorted = losses;
  std::ranges::sort(sorted);
  const auto at = [&](double share) {
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
  };
  const double middle = at(0.5), width = at(0.75) - at(0.25);
  if (width > 0)
    for (double& loss : losses) loss = std::asinh((loss - middle) / width);
  double mean = 0, square = 0;
  for (const double loss : losses) mean += loss / static_cast<double>(losses.size());
  for (const double loss : losses) square += (loss - mean) * (loss - mean) / static_cast<double>(losses.size());
  const double deviation = square > 0 ? std::sqrt(square) : 1;
  for (double& loss : losses) loss = (loss - mean) / deviation;
  return losses;
}

// The best half and the newest half of those that fit.
void keep_some(Known& known) {
  if (known.points.size() <= kMostPoints) return;
  std::vector<std::size_t> order(known.points.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;  // the newest first
  std::ranges::stable_sort(order.begin() + kMostPoints / 2, order.end(), {},
                           [&](std::size_t i) { return known.losses[i]; });
  order.resize(kMostPoints);
  std::ranges::sort(order);
  Known kept{.points = {}, .losses = {}, .running = std::move(known.running)};
  for (const std::size_t i : order) {
    kept.points.push_back(std::move(known.points[i]));
    kept.losses.push_back(known.losses[i]);
  }
  known = std::move(kept);
}

// Where the expected improvement is largest.
class Acquisition {
 public:
  Acquisition(const GaussianProcess& process, double best, std::span<const Space::Parameter> parameters)
      : process_(process), best_(best), parameters_(parameters) {}

  double operator()(const Point& at) const {
    const auto prediction = process_.predict(at);
    return log_expected_improvement(best_, prediction.mean, prediction.deviation).log;
  }

  // From a point uphill: what is continuous along the slope, what has steps or is a choice value by value.
  Point climb(Point at) const {
    Box box{.low = at, .high = at};
    for (std::size_t d = 0; d < at.size(); ++d)
      if (cardinality(parameters_[d].domain) == 0) {
        box.low[d] = 0;
        box.high[d] = 1;
      }
    const Objective objective = [this](const Point& place, Point& gradient) {
      const auto prediction = process_.predict(place, true);
      const Improvement improvement = log_expected_improvement(best_, prediction.mean, prediction.deviation);
      for (std::size_t d = 0; d < gradient.size(); ++d)
        gradient[d] =
            -improvement.by_mean * prediction.mean_slope[d] - improvement.by_deviation * prediction.deviation_slope[d];
      return -improvement.log;
    };
    for (int round = 0; round < 3; ++round) {
      at = minimise(objective, std::move(at), box);
      bool has_moved = false;
      for (std::size_t d = 0; d < at.size(); ++d)
        if (box.low[d] == box.high[d]) has_moved = try_values(at, d) || has_moved;
      if (!has_moved) break;
      for (std::size_t d = 0; d < at.size(); ++d)
        if (box.low[d] == box.high[d]) box.low[d] = box.high[d] = at[d];
    }
    return at;
  }

 private:
  // All of them, or those around it.
  bool try_values(Point& at, std::size_t d) const {
    const Domain& domain = parameters_[d].domain;
    const std::size_t count = cardinality(domain);
    const double cell = 1 / static_cast<double>(count), from = at[d];
    double highest = (*this)(at), best = from;
    for (std::size_t i = 0; i < std::min(count, kMostTried); ++i) {
      const double place = count <= kMostTried ? (static_cast<double>(i) + 0.5) * cell
                                               : from + (static_cast<double>(i) - kMostTried / 2.0) * cell;
      if (place < 0 || place > 1) continue;
      at[d] = to_unit(domain, from_unit(domain, place));
      if (const double here = (*this)(at); here > highest) {
        highest = here;
        best = at[d];
      }
    }
    at[d] = best;
    return best != from;
  }

  const GaussianProcess& process_;
  const double best_;
  const std::span<const Space::Parameter> parameters_;
};

class Gp : public Sampler {
 public:
  explicit Gp(const SamplerOptions& options)
      : seed_(options.seed),
        startup_(static_cast<std::size_t>(number_option(options.options, "n_startup_trials", 10, 1))) {}

  std::map<std::string, Json> draw_together(const Space& space, const Observations& past, int number) override {
    std::vector<Space::Parameter> parameters = cube_parameters(space);
    if (parameters.size() > kSobolDimensions) parameters.erase(parameters.begin() + kSobolDimensions, parameters.end());
    if (parameters.empty()) return {};
    Known known = known_of(parameters, past);
    if (known.points.size() < startup_) return {};
    keep_some(known);
    return values_at(parameters, best_point(known, parameters, random_of(seed_, number, "together")));
  }

  Json draw_one(const std::string& path, const Domain& domain, const Observations& /*past*/, int number) override {
    Random random = random_of(seed_, number, path);
    return draw(domain, random);
  }

 private:
  static Known known_of(std::span<const Space::Parameter> parameters, const Observations& past) {
    Known known;
    for (const Observation& each : past) {
      auto point = point_of(parameters, each.values);
      if (!point) continue;
      if (each.state == Observation::State::Running) {
        known.running.push_back(*std::move(point));
      } else if (each.state == Observation::State::Complete && each.loss && std::isfinite(*each.loss)) {
        known.points.push_back(*std::move(point));
        known.losses.push_back(*each.loss);
      }
    }
    return known;
  }

  static Point best_point(const Known& known, std::span<const Space::Parameter> parameters, Random random) {
    std::vector<bool> is_category;
    for (const auto& each : parameters) is_category.push_back(each.domain.kind == Domain::Kind::Choice);
    const std::vector<double> values = standardised(known.losses);
    GaussianProcess process(known.points, values, is_category);
    // What runs is taken to come out as expected: the next one goes elsewhere.
    for (const Point& point : known.running) process.add(point, process.predict(point).mean);
    const auto best = static_cast<std::size_t>(std::ranges::min_element(values) - values.begin());
    const Acquisition acquisition(process, values[best], parameters);

    Point shift(parameters.size());
    for (double& each : shift) each = random.uniform_double();
    std::vector<std::pair<double, Point>> candidates;
    for (std::uint32_t i = 0; i < kCandidates; ++i) {
      Point point = sobol_point(i, parameters.size());
      for (std::size_t d = 0; d < point.size(); ++d) point[d] = std::fmod(point[d] + shift[d], 1.0);
      point = snapped(parameters, point);
      const double value = acquisition(point);
      candidates.emplace_back(value, std::move(point));
    }
    std::ranges::partial_sort(candidates, candidates.begin() + kSearches, std::greater<>());
    candidates[kSearches - 1] = {0, known.points[best]};
    Point chosen;
    double highest = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < kSearches; ++i) {
      Point point = acquisition.climb(candidates[i].second);
      if (const double value = acquisition(point); value > highest || chosen.empty()) {
        highest = value;
        chosen = std::move(point);
      }
    }
    return chosen;
  }

  std::uint64_t seed_;
  std::size_t startup_;
};

}  // namespace

SamplerEntry gp_entry() {
  return {
      .name = "gp",
      .aliases = {"bayesopt"},
      .help = "a Gaussian process: draws where it expects the most improvement; for up to some hundred trials",
      .options = {"n_startup_trials"},
      .make = [](const SamplerOptions& options) -> std::unique_ptr<Sampler> { return std::make_unique<Gp>(options); }};
}

}  // namespace ronde::tune
