#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ronde/models/detail/residual_block.h"
#include "ronde/models/model.h"

namespace ronde::models::detail {

struct ResNetShape {
  std::vector<std::int64_t>
      blocks;                     // in each stage; a stage has twice the channels and half the extent of the one before
  std::int64_t filters = 64;      // of the first stage
  bool bottleneck = false;        // blocks of three convolutions (1, 3, 1) rather than two, with four times the outputs
  bool small_stem = false;        // one convolution of 3 x 3, rather than 7 x 7, stride 2 and a pool
  bool padded_shortcuts = false;  // where the shape changes: every other pixel and zeros, rather than a convolution
  bool conv_bias = false;
  std::int64_t pooled = 1;  // extent of what the head sees
  // Blocks begin as identities, and the head with weights of 0.01 (Goyal et al., arXiv:1706.02677, section 5.1), so
  // that early steps of a large rate do no harm.
  bool identity_start = false;
};

// Deep residual networks of He et al., with the names that torchvision gives to parameters.
class ResNet final : public Network {
 public:
  ResNet(const ModelOptions& options, const ResNetShape& shape);
  torch::Tensor forward(torch::Tensor input) override;

 private:
  void begin_as_identity();

  const bool small_stem_, recompute_;
  const std::int64_t pooled_;
  torch::nn::Conv2d conv1_ = nullptr;
  torch::nn::AnyModule bn1_;
  std::vector<std::shared_ptr<ResidualBlock>> blocks_;
  torch::nn::Linear fc_ = nullptr;
};

}  // namespace ronde::models::detail
