#pragma once

#include <cstdint>
#include <vector>

#include "ronde/models/network.h"
#include "ronde/models/norm.h"

namespace ronde::models::detail {

struct BlockShape {
  std::int64_t in, width, out, stride = 1;
  bool bottleneck = false;
  bool padded_shortcut = false;
  bool conv_bias = false;
};

// Convolutions with norms (conv1, bn1, conv2, bn2, ...), and a way around them (downsample, where the shape changes).
class ResidualBlock final : public Network {
 public:
  ResidualBlock(const BlockShape& shape, const NormFactory& norm);
  torch::Tensor forward(torch::Tensor input) override;
  // The last norm gives nothing, so that only the shortcut is left. Without norms: nothing changes.
  void begin_as_identity();

 private:
  torch::Tensor shortcut(const torch::Tensor& input);

  const BlockShape shape_;
  std::vector<torch::nn::Conv2d> convs_;
  std::vector<torch::nn::AnyModule> norms_;
  torch::nn::Sequential downsample_ = nullptr;
};

}  // namespace ronde::models::detail
