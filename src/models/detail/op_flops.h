#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <torch/torch.h>

namespace ronde::models::detail {

// Floating point operations of one of torch's operations ("conv2d"), as costs.h counts them. `inputs` are its tensors in
// the order of its arguments, those in lists included.
std::int64_t op_flops(std::string_view operation, const std::vector<torch::Tensor>& inputs, const torch::Tensor& output);

}  // namespace ronde::models::detail
