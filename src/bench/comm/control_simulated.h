#pragma once

#include "ronde/bench/bench.h"

namespace ronde::bench::detail {

// `ronde bench control --simulate N`: what so many ranks, 8 on each node, send each other to agree.
Report run_simulated_control(const Options& options);

}  // namespace ronde::bench::detail
