#pragma once

#include "ronde/models/model.h"

namespace ronde::models::detail {

// Reads an image row by row with two layers of 128 cells; what they hold after the last row decides.
class Lstm final : public Network {
 public:
  explicit Lstm(const ModelOptions& options);
  torch::Tensor forward(torch::Tensor input) override;

 private:
  torch::nn::LSTM lstm_;
  torch::nn::Linear fc_;
};

}  // namespace ronde::models::detail
