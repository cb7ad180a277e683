#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <span>

#include "ronde/tune/detail/normal.h"
#include "ronde/tune/samplers/cube.h"
#include "ronde/tune/samplers/sampler.h"
#include "ronde/tune/schedulers/scheduler.h"

// BOHB's model (Falkner et al., arXiv 1807.01774) with HpBandSter's rules and defaults: the density of good trials over
// that of the others, at the largest budget that enough trials have reached. With a scheduler that stops trials early,
// it learns from results of few iterations at first and from those of many later.
namespace ronde::tune {
namespace {

using Points = std::vector<std::vector<double>>;

// A kernel for each point: normal in the unit interval for numbers; for choices, the same one or any other.
struct Density {
  Points points;
  std::vector<double> width;  // by dimension
};

struct Model {
  Density good, others;
};

class Bohb : public Sampler {
 public:
  explicit Bohb(const SamplerOptions& options)
      : seed_(options.seed),
        least_points_(static_cast<std::size_t>(number_option(options.options, "min_points_in_model", 0, 0))),
        good_share_(number_option(options.options, "top_n_percent", 15, 0) / 100),
        candidates_(static_cast<int>(number_option(options.options, "num_samples", 64, 1))),
        random_share_(number_option(options.options, "random_fraction", 1.0 / 3, 0)),
        wider_(number_option(options.options, "bandwidth_factor", 3, 0)),
        least_width_(number_option(options.options, "min_bandwidth", 1e-3, 0)) {}

  std::map<std::string, Json> draw_together(const Space& space, const Observations& past, int number) override {
    const std::vector<Space::Parameter> parameters = cube_parameters(space);
    Random random = random_of(seed_, number, "together");
    if (parameters.empty() || random.uniform_double() < random_share_) return {};
    const auto model = model_of(parameters, past);
    if (!model) return {};
    return values_at(parameters, most_promising(parameters, *model, random));
  }

  Json draw_one(const std::string& path, const Domain& domain, const Observations& /*past*/, int number) override {
    Random random = random_of(seed_, number, path);
    return draw(domain, random);
  }

 private:
  struct Judged {
    double loss;
    std::vector<double> point;
  };

  // What trials have come to at a budget; those that went by between two reports are left out.
  static std::vector<Judged> judged_at(double budget, std::span<const Space::Parameter> parameters,
                                       const Observations& past) {
    std::vector<Judged> judged;
    for (const Observation& each : past)
      for (const auto& [time, loss] : each.steps)
        if (time == budget && !std::isnan(loss))
          if (auto point = point_of(parameters, each.values)) judged.push_back({loss, std::move(*point)});
    std::ranges::stable_sort(judged, {}, &Judged::loss);
    return judged;
  }

  // Of the largest budget that has enough of them.
  std::optional<Model> model_of(std::span<const Space::Parameter> parameters, const Observations& past) const {
    std::set<double, std::greater<>> budgets;
    for (const Observation& each : past)
      for (const auto& [time, loss] : each.steps) budgets.insert(time);
    const std::size_t least = std::max(least_points_, parameters.size() + 1);
    for (const double budget : budgets) {
      const std::vector<Judged> judged = judged_at(budget, parameters, past);
      if (judged.size() < least + 2) continue;
      const auto share = [&](double part) {
        return std::max(least, static_cast<std::size_t>(part * static_cast<double>(judged.size())));
      };
      const std::size_t good = share(good_share_), others = std::min(share(1 - good_share_), judged.size() - good);
      Points best, rest;
      for (std::size_t i = 0; i < good; ++i) best.push_back(judged[i].point);
      for (std::size_t i = good; i < good + others; ++i) rest.push_back(judged[i].point);
      return Model{density_of(std::move(best)), density_of(std::move(rest))};
    }
    return {};
  }

  // Widths by the rule for normal variables.
  Density density_of(Points points) const {
    const auto count = static_cast<double>(points.size());
    const std::size_t dimensions = points[0].size();
    std::vector<double> width(dimensions);
    for (std::size_t i = 0; i < dimensions; ++i) {
      double mean = 0, square = 0;
      for (const auto& point : points) mean += point[i] / count;
      for (const auto& point : points) square += (point[i] - mean) * (point[i] - mean) / count;
      const double rule = 1.06 * std::sqrt(square) * std::pow(count, -1.0 / (4 + static_cast<double>(dimensions)));
      width[i] = std::clamp(rule, least_width_, 1.0);
    }
    return {std::move(points), std::move(width)};
  }

  static double log_density(std::span<const Space::Parameter> parameters, const Density& density,
                            std::span<const double> at) {
    double sum = 0;
    for (const auto& point : density.points) {
      double product = 1;
      for (std::size_t i = 0; i < point.size(); ++i) {
        const double width = density.width[i], away = at[i] - point[i];
        if (const auto choices = static_cast<double>(parameters[i].domain.choices.size()); choices > 0) {
          const double other = std::min(width, (choices - 1) / choices);
          product *= std::abs(away) < 0.5 / choices ? 1 - other : other / std::max(choices - 1, 1.0);
        } else {
          product *= std::exp(-away * away / (2 * width * width)) / width;
        }
      }
      sum += product;
    }
    return std::log(std::max(sum / static_cast<double>(density.points.size()), 1e-300));
  }

  // Near one of the good ones.
  std::vector<double> candidate(std::span<const Space::Parameter> parameters, const Density& good,
                                Random& random) const {
    std::vector<double> point = good.points[random.below(good.points.size())];
    for (std::size_t i = 0; i < point.size(); ++i) {
      if (!parameters[i].domain.choices.empty()) {
        if (random.uniform_double() < good.width[i]) point[i] = random.uniform_double();
        continue;
      }
      const double centre = point[i], width = std::max(good.width[i] * wider_, least_width_);
      do point[i] = centre + width * draw_normal(random);
      while (point[i] < 0 || point[i] > 1);
    }
    return snapped(parameters, point);
  }

  std::vector<double> most_promising(std::span<const Space::Parameter> parameters, const Model& model,
                                     Random& random) const {
    std::vector<double> best;
    double highest = -std::numeric_limits<double>::infinity();
    for (int i = 0; i < candidates_; ++i) {
      std::vector<double> point = candidate(parameters, model.good, random);
      const double ratio = log_density(parameters, model.good, point) - log_density(parameters, model.others, point);
      if (ratio <= highest && !best.empty()) continue;
      highest = ratio;
      best = std::move(point);
    }
    return best;
  }

  std::uint64_t seed_;
  std::size_t least_points_;
  double good_share_;
  int candidates_;
  double random_share_, wider_, least_width_;
};

}  // namespace

SamplerEntry bohb_model_entry() {
  return {
      .name = "bohb",
      .help = "BOHB's model: draws near the best trials of the largest budget that enough have reached; for hyperband",
      .options = {"min_points_in_model", "top_n_percent", "num_samples", "random_fraction", "bandwidth_factor",
                  "min_bandwidth"},
      .make = [](const SamplerOptions& options) -> std::unique_ptr<Sampler> {
        return std::make_unique<Bohb>(options);
      }};
}

}  // namespace ronde::tune
