#include "ronde/models/detail/mlp.h"

#include <algorithm>
#include <cmath>

#include "ronde/models/recompute.h"

namespace ronde::models::detail {

Mlp::Mlp(const ModelOptions& options, const std::vector<std::int64_t>& hidden) : recompute_(options.recompute) {
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
  if (!recompute_) return through(0, layers_.size(), x);
  // With n layers, sqrt(n) ends of parts are kept and sqrt(n) layers inside one: no other cut keeps less.
  const auto length = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(layers_.size()))));
  for (std::size_t begin = 0; begin < layers_.size(); begin += length) {
    const std::size_t end = std::min(begin + length, layers_.size());
    x = recompute([this, begin, end](const torch::Tensor& some) { return through(begin, end, some); }, {}, x);
  }
  return x;
}

torch::Tensor Mlp::through(std::size_t begin, std::size_t end, torch::Tensor x) {
  for (std::size_t i = begin; i < end; ++i) {
    x = layers_[i]->forward(x);
    if (i + 1 < layers_.size()) x = x.relu_();
  }
  return x;
}

}  // namespace ronde::models::detail
