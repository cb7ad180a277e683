#pragma once

#include <cstdint>

#include "ronde/train/loop/results.h"
#include "ronde/train/loop/training_task.h"
#include "ronde/train/session.h"

namespace ronde::train {

// Runs the network over all samples of a source, each on exactly one rank, and sums up: the same result for any number
// of ranks, up to rounding of the loss. Every rank calls it, and every rank gets the result.
// FAILS WITH: as Handle::wait(); BadInput.
Evaluation evaluate(const Session& session, const Task& task, const data::Source& samples, std::int64_t batch);

}  // namespace ronde::train
