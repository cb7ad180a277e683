#pragma once

#include <vector>

#include "ronde/comm/bench/simulated_job.h"

namespace ronde::comm::detail {

// What it costs that a rank leaves, that one which speaks for its node does, and that a whole node dies: who tells whom
// is decided by routes.h, as in the engine. FAILS WITH: Bug when some rank does not hear of it.
std::vector<SimulatedCost> simulate_departures(const SimulatedJob& job);

}  // namespace ronde::comm::detail
