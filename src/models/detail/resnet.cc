#include "ronde/models/detail/resnet.h"

#include <string>
#include <utility>

#include "ronde/models/detail/layers.h"
#include "ronde/models/recompute.h"

namespace ronde::models::detail {

ResNet::ResNet(const ModelOptions& options, const ResNetShape& shape)
    : small_stem_(shape.small_stem), recompute_(options.recompute), pooled_(shape.pooled) {
  const bool bias = options.conv_bias || shape.conv_bias;
  std::int64_t width = options.filters > 0 ? options.filters : shape.filters;
  std::int64_t in = width;
  conv1_ = register_module("conv1", conv2d({options.channels, in, small_stem_ ? 3 : 7, small_stem_ ? 1 : 2, bias}));
  bn1_ = options.norm(in);
  register_module("bn1", bn1_.ptr());
  for (std::size_t stage = 0; stage < shape.blocks.size(); ++stage, width *= 2) {
    torch::nn::Sequential layer;
    const std::int64_t out = shape.bottleneck ? 4 * width : width;
    for (std::int64_t i = 0; i < shape.blocks[stage]; ++i) {
      const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
      const BlockShape block{in, width, out, stride, shape.bottleneck, shape.padded_shortcuts, bias};
      auto made = std::make_shared<ResidualBlock>(block, options.norm);
      layer->push_back(made);
      blocks_.push_back(std::move(made));
      in = out;
    }
    register_module("layer" + std::to_string(stage + 1), layer);
  }
  fc_ = register_module("fc", torch::nn::Linear(in * pooled_ * pooled_, options.classes));
  init_convolutions(*this);
  if (shape.identity_start) begin_as_identity();
}

void ResNet::begin_as_identity() {
  for (auto& block : blocks_) block->begin_as_identity();
  torch::nn::init::normal_(fc_->weight, 0.0, 0.01);
  torch::nn::init::zeros_(fc_->bias);
}

torch::Tensor ResNet::forward(torch::Tensor input) {
  torch::Tensor x = bn1_.forward(conv1_->forward(input));
  x = x.relu_();
  if (!small_stem_) x = torch::max_pool2d(x, 3, 2, 1);
  for (auto& block : blocks_) x = run_part(*block, x, recompute_);
  x = torch::adaptive_avg_pool2d(x, {pooled_, pooled_});
  return fc_->forward(x.flatten(1));
}

}  // namespace ronde::models::detail
