#pragma once

#include "ronde/bench/bench.h"

// One function a benchmark, each in the file of its name.
namespace ronde::bench {

Report run_span();

}  // namespace ronde::bench
