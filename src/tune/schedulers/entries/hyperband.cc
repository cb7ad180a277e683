#include "ronde/tune/schedulers/bands.h"

namespace ronde::tune {

SchedulerEntry hyperband_entry() {
  return {.name = "hyperband",
          .help = "brackets of trials that pause at milestones, of which the best third goes on",
          .options = {"max_t", "reduction_factor", "stop_last_trials"},
          .needs_checkpoints = true,
          .make = [](const SchedulerOptions& options) -> std::unique_ptr<Scheduler> {
            return std::make_unique<Bands>(band_options(options, false));
          }};
}

}  // namespace ronde::tune
