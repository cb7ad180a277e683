#pragma once

#include <cstdint>
#include <vector>

#include "ronde/models/model.h"

namespace ronde::models::detail {

// Two convolutions of 3 x 3, each with a norm and ReLU: conv1, bn1, conv2, bn2.
class DoubleConv final : public Network {
 public:
  DoubleConv(std::int64_t in, std::int64_t out, bool bias, const NormFactory& norm);
  torch::Tensor forward(torch::Tensor input) override;

 private:
  torch::nn::Conv2d conv1_, conv2_;
  torch::nn::AnyModule bn1_, bn2_;
};

// The U-Net of Ronneberger et al., with norms and padding: outputs [batch, classes, height, width]. Four times down
// (down0 to down4), four times up (up1 to up4, each after an `enlarge`), and beside it at each size.
class UNet final : public Network {
 public:
  explicit UNet(const ModelOptions& options);
  torch::Tensor forward(torch::Tensor input) override;

 private:
  const bool recompute_;
  std::vector<std::shared_ptr<DoubleConv>> down_, up_;
  std::vector<torch::nn::ConvTranspose2d> enlarge_;
  torch::nn::Conv2d head_ = nullptr;
};

}  // namespace ronde::models::detail
