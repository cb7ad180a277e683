#pragma once

#include <string_view>

#include <torch/torch.h>

#include "ronde/models/network.h"
#include "ronde/train/loop/arithmetic.h"

namespace ronde::train {

// While it lives, operations of this thread that lose little by it (products, convolutions) run in a short type, and
// their inputs are converted on the way; weights stay as they are. In f32 it does nothing.
class Autocast {
 public:
  Autocast(Precision precision, torch::DeviceType device);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  const torch::DeviceType device_;
  const bool active_;
  bool before_ = false;
  torch::ScalarType type_before_ = torch::kFloat32;
};

// What the network makes of inputs, computed in a precision; the result is f32 (or what the network says itself), so
// that losses and scores are as exact as ever.
torch::Tensor forward_in(Precision precision, models::Network& network, const torch::Tensor& inputs);

}  // namespace ronde::train
