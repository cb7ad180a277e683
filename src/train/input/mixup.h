#pragma once

#include <cstdint>

#include <torch/torch.h>

#include "ronde/data/order/batch_plan.h"
#include "ronde/data/sample_kind.h"
#include "ronde/train/loop/training_task.h"
#include "ronde/train/options.h"

namespace ronde::train {

// What data.mixup asks for; 0: nothing. Pairs are neighbours in the global batch, so that they do not depend on ranks.
// FAILS WITH: BadInput when samples have no class each, or when a rank's part, or that of a pass, has an odd number.
double mixup_of(const TrainingOptions& options, data::Target target, std::int64_t batch, int ranks);

// Mixes each sample of a part with its neighbour, by a share of the pair's own: the inputs, and what they are to be
// taken for, as [n, classes]. `place` is where the part begins in the order of the epoch. REQUIRES: an even number of
// samples, with classes as targets; an even place.
Samples mixed(const Samples& samples, double alpha, std::uint64_t seed, std::int64_t epoch, std::int64_t place,
              std::int64_t classes);

}  // namespace ronde::train
