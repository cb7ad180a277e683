#include "ronde/base/error.h"
#include "ronde/tune/schedulers/explore.h"
#include "ronde/tune/schedulers/population.h"

namespace ronde::tune {
namespace {

ExploreOptions explore_options(const Json& options) {
  ExploreOptions explore;
  explore.mutations = options.value("hyperparam_mutations", Json::object());
  explore.resample_probability = number_option(options, "resample_probability", 0.25, 0);
  if (const auto found = options.find("perturbation_factors"); found != options.end())
    explore.factors = found->get<std::vector<double>>();
  if (explore.factors.empty()) throw Error::bad_input("perturbation_factors must have at least one factor");
  if (!explore.mutations.is_object() || explore.mutations.empty())
    throw Error::bad_input("hyperparam_mutations must name at least one parameter");
  check_mutations(explore.mutations);
  return explore;
}

// Values drawn anew, multiplied by a factor, or moved to a neighbour.
class Mutations : public Explorer {
 public:
  explicit Mutations(ExploreOptions options) : options_(std::move(options)) {}

  void complete(Json& config, Random& random) const override { draw_missing(config, options_.mutations, random); }
  Json explore(int /*trial*/, int /*source*/, const Json& config, Random& random) override {
    return tune::explore(config, options_, random);
  }

 private:
  const ExploreOptions options_;
};

}  // namespace

SchedulerEntry pbt_entry() {
  return {
      .name = "pbt",
      .help = "a population in which the worst quarter takes over weights and settings of the best, changed a little",
      .options = {"perturbation_interval", "burn_in_period", "hyperparam_mutations", "quantile_fraction",
                  "resample_probability", "perturbation_factors", "synch"},
      .time_attribute = "time_total_s",
      .needs_checkpoints = true,
      .make = [](const SchedulerOptions& options) -> std::unique_ptr<Scheduler> {
        return make_population(options, std::make_unique<Mutations>(explore_options(options.options)));
      }};
}

}  // namespace ronde::tune
