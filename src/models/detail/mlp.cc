#include "ronde/models/detail/mlp.h"

namespace ronde::models::detail {

Mlp::Mlp(const ModelOptions& options, const std::vector<std::int64_t>& hidden) {
  std::int64_t inputs = options.channels * options.height * options.width;
  const auto add = [&](std::int64_t outputs) {
    torch::nn::Linear layer(inputs, outputs);
    // Keeps the size of activations from layer to layer: with torch's own choice 200 of them fade to nothing.
    torch::nn::init::kaiming_normal_(layer->weight, 0.0, torch::kFanIn, torch::kReLU);
    torch::nn::init::zeros_(layer->bias);
    layers_.push_back(register_module("fc" + std::to_string(layers_.size() + 1), layer));
    inputs = outputs;
  };
  for (const std::int64_t width : hidden) add(width);
  add(options.classes);
}

torch::Tensor Mlp::forward(torch::Tensor input) {
  torch::Tensor x = input.flatten(1);
  for (auto& layer : layers_) {
    x = layer->forward(x);
    if (&layer != &layers_.back()) x = x.relu_();
  }
  return x;
}

}  // namespace ronde::models::detail
