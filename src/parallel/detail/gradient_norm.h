#pragma once

#include <vector>

#include <torch/torch.h>

namespace ronde::parallel::detail {

// The squared norm of a gradient, or of a part of its values: the `part`-th of `parts` pieces of its memory. A tensor,
// so that a GPU need not be waited for.
torch::Tensor squared_norm(const torch::Tensor& gradient, int part = 0, int parts = 1);

torch::Tensor sum_of(const std::vector<torch::Tensor>& numbers);

}  // namespace ronde::parallel::detail
