#pragma once

#include <memory>

#include "ronde/tune/schedulers/scheduler.h"
#include "ronde/tune/space/space.h"

namespace ronde::tune {

// How a population explores: the configuration with which a trial goes on that has taken over another's weights. Like a
// scheduler, a state machine of what it hears.
class Explorer {
 public:
  virtual ~Explorer() = default;

  // A trial is made: draws what its configuration lacks.
  virtual void complete(Json& config, Random& random) const = 0;
  // A trial reports at its interval.
  virtual void heard(const Report& /*report*/) {}
  // `trial` takes over from `source`, which has `config`.
  virtual Json explore(int trial, int source, const Json& config, Random& random) = 0;
};

// Reads perturbation_interval, burn_in_period, quantile_fraction and synch. FAILS WITH: BadInput.
std::unique_ptr<Scheduler> make_population(const SchedulerOptions& options, std::unique_ptr<Explorer> explorer);

}  // namespace ronde::tune
