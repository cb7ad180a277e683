#pragma once

#include <span>
#include <string>

#include <torch/torch.h>

#include "ronde/models/tensor_map.h"

// The state of an optimizer as tensors by name: that of parameter fc.weight is called fc.weight/exp_avg, and so on.
// Learning rates and other options are no part of it: they come from settings and schedules.
namespace ronde::train {

struct OptimizerEntry;

using NamedParameters = torch::OrderedDict<std::string, torch::Tensor>;  // network->named_parameters()

// The tensors share the optimizer's memory. A parameter that was never stepped has none.
// REQUIRES: nobody steps the optimizer meanwhile.
// FAILS WITH: BadInput for an optimizer that is none of those in optim/entries, nor of `more`, or one that has a
// parameter without a name.
models::TensorMap state_tensors(const torch::optim::Optimizer& optimizer, const NamedParameters& parameters,
                                std::span<const OptimizerEntry> more = {});

// Puts copies of them into an optimizer of the same kind, in place of what it has; each in the layout and on the device
// of its parameter. `source` is for messages. FAILS WITH: BadInput as above, and for tensors that do not fit, saying
// which; the optimizer is then as it was.
void restore_state(torch::optim::Optimizer& optimizer, const NamedParameters& parameters,
                   const models::TensorMap& tensors, const std::string& source = "the state of the optimizer",
                   std::span<const OptimizerEntry> more = {});

}  // namespace ronde::train
