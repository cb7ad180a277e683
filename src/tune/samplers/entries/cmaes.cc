#include <algorithm>
#include <cmath>
#include <optional>

#include "ronde/base/error.h"
#include "ronde/tune/samplers/cma.h"
#include "ronde/tune/samplers/cube.h"
#include "ronde/tune/schedulers/scheduler.h"

// CMA-ES over the numbers that always exist; choices, normal variables and what depends on a choice are drawn at
// random.
namespace ronde::tune {
namespace {

class CmaEs : public Sampler {
 public:
  explicit CmaEs(const SamplerOptions& options)
      : seed_(options.seed),
        startup_(static_cast<std::size_t>(number_option(options.options, "n_startup_trials", 1, 0))),
        population_(static_cast<std::size_t>(number_option(options.options, "popsize", 0, 0))) {
    if (population_ > 0 && population_ < 4)
      throw Error::bad_input("popsize must be at least 4, or 0: chosen from the number of parameters; got {}",
                             population_);
  }

  std::map<std::string, Json> draw_together(const Space& space, const Observations& past, int number) override {
    const std::vector<Space::Parameter> parameters = number_parameters(space);
    const std::vector<Told> told = told_of(parameters, past);
    if (parameters.empty() || told.size() < startup_) return {};
    Random random = random_of(seed_, number, "together");
    return values_at(parameters, state_after(parameters.size(), told).draw(random));
  }

  Json draw_one(const std::string& path, const Domain& domain, const Observations& /*past*/, int number) override {
    Random random = random_of(seed_, number, path);
    return draw(domain, random);
  }

 private:
  struct Told {
    int number;
    bool is_complete;
    double loss;
    std::vector<double> point;
  };

  // Trials that the scheduler has stopped are worse than all others of their generation, whatever their loss.
  static std::vector<Told> told_of(std::span<const Space::Parameter> parameters, const Observations& past) {
    std::vector<Told> told;
    for (const Observation& each : past) {
      if (each.state == Observation::State::Running || !each.loss || !std::isfinite(*each.loss)) continue;
      if (auto point = point_of(parameters, each.values))
        told.push_back({each.number, each.state == Observation::State::Complete, *each.loss, *std::move(point)});
    }
    return told;
  }

  // Generations are the trials that have ended, in the order of their numbers. What was computed for the ones that are
  // the same as at the last call is kept.
  const Cma& state_after(std::size_t dimensions, const std::vector<Told>& told) {
    Cma begin(dimensions, population_);
    const std::size_t size = begin.population(), generations = (told.size() - startup_) / size;
    std::vector<int> numbers;
    for (std::size_t i = startup_; i < startup_ + generations * size; ++i) numbers.push_back(told[i].number);
    const bool goes_on =
        state_ && learned_.size() <= numbers.size() && std::equal(learned_.begin(), learned_.end(), numbers.begin());
    if (!goes_on) {
      state_ = std::move(begin);
      learned_.clear();
    }
    for (std::size_t at = learned_.size(); at < numbers.size(); at += size) {
      std::vector<const Told*> generation;
      for (std::size_t i = 0; i < size; ++i) generation.push_back(&told[startup_ + at + i]);
      std::ranges::stable_sort(generation, [](const Told* a, const Told* b) {
        return a->is_complete != b->is_complete ? a->is_complete : a->loss < b->loss;
      });
      std::vector<std::vector<double>> ranked;
      for (const Told* each : generation) ranked.push_back(each->point);
      state_->tell(ranked);
    }
    learned_ = std::move(numbers);
    return *state_;
  }

  std::uint64_t seed_;
  std::size_t startup_, population_;
  std::optional<Cma> state_;
  std::vector<int> learned_;  // whose results are in it
};

}  // namespace

SamplerEntry cmaes_entry() {
  return {
      .name = "cmaes",
      .aliases = {"cma"},
      .help = "CMA-ES: a normal distribution that moves towards what was good; for numbers, and some hundred trials",
      .options = {"n_startup_trials", "popsize"},
      .make = [](const SamplerOptions& options) -> std::unique_ptr<Sampler> {
        return std::make_unique<CmaEs>(options);
      }};
}

}  // namespace ronde::tune
