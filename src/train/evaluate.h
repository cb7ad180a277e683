#pragma once

#include <cstdint>

#include "ronde/train/meter.h"
#include "ronde/train/session.h"
#include "ronde/train/task.h"

namespace ronde::train {

// Runs the network over all held-out samples, each on exactly one rank, and sums up: the same result for any number of
// ranks, up to rounding of the loss. Every rank calls it, and every rank gets the result.
// FAILS WITH: as Handle::wait(); BadInput.
Score evaluate(const Session& session, const Task& task, std::int64_t batch);

}  // namespace ronde::train
