#pragma once

#include "ronde/models/model.h"

namespace ronde::models::detail {

// Two convolutions and two linear layers, in the sizes of Caffe's LeNet (431,080 parameters on MNIST).
class LeNet final : public Network {
 public:
  explicit LeNet(const ModelOptions& options);
  torch::Tensor forward(torch::Tensor input) override;

 private:
  torch::nn::Conv2d conv1_, conv2_;
  torch::nn::Linear fc1_ = nullptr, fc2_ = nullptr;
};

}  // namespace ronde::models::detail
