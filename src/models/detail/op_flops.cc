#include "ronde/models/detail/op_flops.h"

#include <algorithm>
#include <array>

namespace ronde::models::detail {
namespace {

constexpr std::array kMoves = {
    std::string_view("cat"),   std::string_view("constant_pad_nd"), std::string_view("contiguous"),
    std::string_view("clone"), std::string_view("reshape"),         std::string_view("flatten"),
    std::string_view("copy_"), std::string_view("zeros"),           std::string_view("upsample_nearest2d")};

// Each weight matrix of each layer and direction meets every step of every sample once.
std::int64_t lstm_flops(const std::vector<torch::Tensor>& inputs) {
  const std::int64_t steps = inputs[0].size(0) * inputs[0].size(1);
  std::int64_t weights = 0;
  for (std::size_t i = 3; i < inputs.size(); ++i)  // after input and the two states
    if (inputs[i].dim() == 2) weights += inputs[i].numel();
  return 2 * steps * weights;
}

std::int64_t attention_flops(const std::vector<torch::Tensor>& inputs) {
  const torch::Tensor &query = inputs[0], &key = inputs[1], &value = inputs[2];
  const std::int64_t scores = query.numel() / query.size(-1) * key.size(-2);
  return 2 * scores * (query.size(-1) + value.size(-1));
}

}  // namespace

std::int64_t op_flops(std::string_view operation, const std::vector<torch::Tensor>& inputs,
                      const torch::Tensor& output) {
  const auto begins = [&](std::string_view with) { return operation.starts_with(with); };
  if (std::ranges::find(kMoves, operation) != kMoves.end()) return 0;
  if (begins("conv_transpose") && inputs.size() > 1)
    return 2 * inputs[0].numel() * (inputs[1].numel() / inputs[1].size(0));
  if (begins("conv") && inputs.size() > 1) return 2 * output.numel() * (inputs[1].numel() / inputs[1].size(0));
  if (operation == "addmm" && inputs.size() > 2) return 2 * output.numel() * inputs[1].size(-1);
  if (operation == "linear" || operation == "matmul" || operation == "mm" || operation == "bmm")
    return 2 * output.numel() * inputs[0].size(-1);
  if (operation == "lstm" && inputs.size() > 3) return lstm_flops(inputs);
  if (operation == "scaled_dot_product_attention") return attention_flops(inputs);
  if (operation.ends_with("_norm") || operation == "add_relu_") return 2 * output.numel();
  return output.numel();
}

}  // namespace ronde::models::detail
