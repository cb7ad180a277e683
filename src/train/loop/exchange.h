#pragma once

#include <cstdint>
#include <string>

#include "ronde/comm/request.h"
#include "ronde/comm/types.h"
#include "ronde/train/options.h"

// What options say about how ranks exchange what they learn. All pure.
namespace ronde::train {

comm::Compression compression_of(const std::string& name);  // train.compression
comm::ReduceOp reduce_op_of(const std::string& name);       // train.reduce

// train.batch must have a sample for every backward pass of every rank. FAILS WITH: BadInput.
void require_enough_samples(const TrainingOptions& options, int ranks);

// train.sync_every: above 1, gradients do not travel.
// FAILS WITH: BadInput together with settings about how they do.
std::int64_t checked_sync_every(const TrainingOptions& options);

// Every how many steps the gradient noise scale is measured: train.noise_scale, or 0 where it cannot be. It takes a
// mean gradient of the whole batch and those of parts of it: several ranks or train.accumulate, and neither Adasum,
// which makes no mean, nor local SGD.
std::int64_t noise_interval(const TrainingOptions& options, int ranks);

}  // namespace ronde::train
