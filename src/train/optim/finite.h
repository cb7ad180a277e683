#pragma once

#include <optional>
#include <string>

#include <torch/torch.h>

namespace ronde::train {

// The first tensor of a module that holds something else than finite numbers, such as "parameter 'fc.weight'":
// parameters, then buffers, then gradients.
std::optional<std::string> first_not_finite(const torch::nn::Module& module, bool gradients = true);

bool all_finite(const torch::Tensor& tensor);

}  // namespace ronde::train
