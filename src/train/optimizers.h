#pragma once

#include <memory>
#include <span>
#include <vector>

#include <torch/torch.h>

#include "ronde/train/options.h"

namespace ronde::train {

struct OptimizerEntry;

// The optimizer that optimizer.* ask for, in fused kernels (fused.h) where optimizer.fused says so and there are some.
// With optimizer.spare_vectors its second group holds the parameters of one
// dimension, without weight decay and layer-wise scaling.
// `more`: optimizers of a program or a plugin.
// FAILS WITH: BadInput for settings that do not go together.
std::unique_ptr<torch::optim::Optimizer> make_optimizer(const OptimizerChoice& choice,
                                                        const std::vector<torch::Tensor>& parameters,
                                                        std::span<const OptimizerEntry> more = {});

void set_learning_rate(torch::optim::Optimizer& optimizer, double rate);

}  // namespace ronde::train
