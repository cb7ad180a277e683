#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ronde/models/model.h"

namespace ronde::models::detail {

struct TransformerShape {
  std::int64_t dimensions = 128, depth = 6, heads = 4;
  std::int64_t patch = 0;  // extent of a patch; 0: as best_patch() says
};

// The smallest patch that cuts an image into whole ones, at most 64 of them; where there is none, the largest.
std::int64_t best_patch(std::int64_t height, std::int64_t width);

// A vision transformer (Dosovitskiy et al.), norms before attention, with the names that timm gives to parameters.
class Transformer final : public Network {
 public:
  explicit Transformer(const ModelOptions& options, const TransformerShape& shape = {});
  torch::Tensor forward(torch::Tensor input) override;

 private:
  const bool recompute_;
  torch::nn::Conv2d proj_ = nullptr;
  torch::Tensor cls_token_, pos_embed_;
  std::vector<std::shared_ptr<Network>> blocks_;
  torch::nn::LayerNorm norm_ = nullptr;
  torch::nn::Linear head_ = nullptr;
};

}  // namespace ronde::models::detail
