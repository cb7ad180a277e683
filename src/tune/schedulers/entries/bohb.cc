#include "ronde/tune/schedulers/bands.h"

namespace ronde::tune {

SchedulerEntry bohb_entry() {
  return {.name = "bohb",
          .aliases = {"hb_bohb"},
          .help = "HyperBand for the sampler bohb: the bracket with most halvings first",
          .options = {"max_t", "reduction_factor", "stop_last_trials"},
          .needs_checkpoints = true,
          .make = [](const SchedulerOptions& options) -> std::unique_ptr<Scheduler> {
            return std::make_unique<Bands>(band_options(options, true));
          }};
}

}  // namespace ronde::tune
