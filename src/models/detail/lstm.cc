#include "ronde/models/detail/lstm.h"

namespace ronde::models::detail {
namespace {

constexpr std::int64_t kCells = 128;

torch::nn::LSTMOptions lstm_options(const ModelOptions& options) {
  return torch::nn::LSTMOptions(options.channels * options.width, kCells).num_layers(2).batch_first(true);
}

}  // namespace

Lstm::Lstm(const ModelOptions& options)
    : lstm_(register_module("lstm", torch::nn::LSTM(lstm_options(options)))),
      fc_(register_module("fc", torch::nn::Linear(kCells, options.classes))) {}

torch::Tensor Lstm::forward(torch::Tensor input) {
  const torch::Tensor rows = input.permute({0, 2, 1, 3}).flatten(2);  // [batch, height, channels * width]
  const torch::Tensor states = std::get<0>(lstm_->forward(rows));
  return fc_->forward(states.select(1, -1));
}

}  // namespace ronde::models::detail
