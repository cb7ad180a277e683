#include <algorithm>
#include <cmath>
#include <limits>

#include "ronde/base/error.h"
#include "ronde/tune/samplers/parzen.h"
#include "ronde/tune/samplers/sampler.h"
#include "ronde/tune/schedulers/scheduler.h"

// Tree-structured Parzen estimators (Bergstra et al., 2011) with the rules and defaults of Optuna 5: the densities of
// good and of other trials; of the candidates that the first gives, the one whose ratio is best. Parameters that always
// exist are drawn together; what depends on a choice is drawn by itself.
namespace ronde::tune {
namespace {

using Values = std::vector<const std::map<std::string, Json>*>;

struct Parts {
  Values good, others;
};

class Tpe : public Sampler {
 public:
  explicit Tpe(const SamplerOptions& options)
      : seed_(options.seed),
        startup_(static_cast<int>(number_option(options.options, "n_startup_trials", 10, 0))),
        candidates_(static_cast<int>(number_option(options.options, "n_ei_candidates", 24, 1))),
        together_(options.options.value("multivariate", true)),
        liar_(options.options.value("constant_liar", true)) {}

  std::map<std::string, Json> draw_together(const Space& space, const Observations& past, int number) override {
    std::vector<Space::Parameter> parameters;
    for (const Space::Parameter& parameter : space.parameters())
      if (parameter.domain.kind != Domain::Kind::Normal) parameters.push_back(parameter);
    if (!together_ || parameters.empty() || is_start(past)) return {};
    return best(parameters, past, random_of(seed_, number, "together"));
  }

  Json draw_one(const std::string& path, const Domain& domain, const Observations& past, int number) override {
    Random random = random_of(seed_, number, path);
    if (is_start(past) || domain.kind == Domain::Kind::Normal) return draw(domain, random);
    const std::vector<Space::Parameter> parameters = {{path, domain}};
    return best(parameters, past, random).begin()->second;
  }

 private:
  bool is_start(const Observations& past) const {
    return std::ranges::count_if(past, [](const Observation& each) {
             return each.state != Observation::State::Running && (each.loss || !each.steps.empty());
           }) < startup_;
  }

  // The best tenth, at most 25: complete trials by their loss, then those that were stopped, by how far they came.
  Parts split(std::span<const Space::Parameter> parameters, const Observations& past) const {
    struct Ranked {
      bool is_complete;
      double reached, loss;
      std::size_t index;
    };
    std::vector<Ranked> ranked;
    std::vector<bool> is_used(past.size(), false);
    for (std::size_t i = 0; i < past.size(); ++i) {
      const Observation& each = past[i];
      if (!std::ranges::all_of(parameters, [&](const auto& one) { return each.values.contains(one.path); })) continue;
      if (each.state == Observation::State::Complete && each.loss)
        ranked.push_back({true, 0, *each.loss, i});
      else if (each.state == Observation::State::Pruned && !each.steps.empty())
        ranked.push_back({false, each.steps.back().first, each.steps.back().second, i});
      else
        is_used[i] = each.state == Observation::State::Running && liar_;
    }
    const auto good =
        std::min<std::size_t>(static_cast<std::size_t>(std::ceil(0.1 * static_cast<double>(ranked.size()))), 25);
    std::ranges::stable_sort(ranked, [](const Ranked& a, const Ranked& b) {
      if (a.is_complete != b.is_complete) return a.is_complete;
      return a.reached != b.reached ? a.reached > b.reached : a.loss < b.loss;
    });
    std::vector<bool> is_good(past.size(), false);
    for (std::size_t i = 0; i < ranked.size(); ++i) (i < good ? is_good : is_used)[ranked[i].index] = true;
    Parts parts;  // in the order of time: weights go by age
    for (std::size_t i = 0; i < past.size(); ++i) {
      if (is_good[i]) parts.good.push_back(&past[i].values);
      if (is_used[i]) parts.others.push_back(&past[i].values);
    }
    return parts;
  }

  std::map<std::string, Json> best(std::span<const Space::Parameter> parameters, const Observations& past,
                                   Random random) const {
    const Parts parts = split(parameters, past);
    const Parzen good(parameters, parts.good), others(parameters, parts.others);
    std::vector<double> chosen;
    double highest = -std::numeric_limits<double>::infinity();
    for (int i = 0; i < candidates_; ++i) {
      std::vector<double> candidate = good.draw(random);
      const double ratio = good.log_density(candidate) - others.log_density(candidate);
      if (ratio <= highest && !chosen.empty()) continue;
      highest = ratio;
      chosen = std::move(candidate);
    }
    std::map<std::string, Json> values;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      values[parameters[i].path] = Parzen::value(parameters[i].domain, chosen[i]);
    return values;
  }

  std::uint64_t seed_;
  int startup_, candidates_;
  bool together_, liar_;
};

}  // namespace

SamplerEntry tpe_entry() {
  return {
      .name = "tpe",
      .aliases = {"optuna"},
      .help = "tree-structured Parzen estimators: draws near the best tenth of the trials so far",
      .options = {"n_startup_trials", "n_ei_candidates", "multivariate", "constant_liar"},
      .make = [](const SamplerOptions& options) -> std::unique_ptr<Sampler> { return std::make_unique<Tpe>(options); }};
}

}  // namespace ronde::tune
