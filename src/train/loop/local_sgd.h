#pragma once

#include <span>

#include <torch/torch.h>

#include "ronde/comm/group.h"

namespace ronde::train {

struct OptimizerEntry;

// Local SGD: ranks that have trained alone come together. Everyone has the mean of all ranks' weights from now on, and
// the mean of what their optimizers have gathered (momentum, squares of gradients): else each would go on in a
// direction of its own, and a checkpoint, which holds one state for all ranks, could not bring them back. Buffers, such
// as running means of batch norms, stay each rank's own, as in plain training.
// REQUIRES: every rank of the group calls it, after the same number of steps in which all parameters had gradients.
// `more`: optimizers of a program or a plugin. FAILS WITH: as Handle::wait().
void average_training(const torch::nn::Module& network, const torch::optim::Optimizer& optimizer,
                      const comm::Group& group, std::span<const OptimizerEntry> more = {});

}  // namespace ronde::train
