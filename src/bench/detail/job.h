#pragma once

#include <span>
#include <string>

#include "ronde/base/system/clock.h"
#include "ronde/bench/bench.h"
#include "ronde/bench/detail/contestant.h"

namespace ronde::bench::detail {

// How many ranks a benchmark that takes one number has. FAILS WITH: BadInput for several.
int one_number_of_ranks(const Options& options, int by_default = 2);

// Our own ranks for a benchmark, bound to these cpus: `ronde bench --rank NAME` under `ronde run`.
Entrant our_entrant(const std::string& benchmark, std::span<const int> cpus, const Options& options);

// When ranks of ours must be ready.
Deadline start_deadline();

}  // namespace ronde::bench::detail
