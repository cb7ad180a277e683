#include "ronde/models/detail/residual_block.h"

#include <string>
#include <utility>

#include "ronde/models/detail/layers.h"
#include "ronde/models/kernels.h"

namespace ronde::models::detail {
namespace {

std::vector<ConvShape> convolutions(const BlockShape& b) {
  // The stride sits at the 3 x 3 convolution of a bottleneck, as in torchvision (and not in the paper).
  if (b.bottleneck)
    return {{b.in, b.width, 1, 1, b.conv_bias},
            {b.width, b.width, 3, b.stride, b.conv_bias},
            {b.width, b.out, 1, 1, b.conv_bias}};
  return {{b.in, b.out, 3, b.stride, b.conv_bias}, {b.out, b.out, 3, 1, b.conv_bias}};
}

bool changes_shape(const BlockShape& shape) {
  return shape.stride != 1 || shape.in != shape.out;
}

}  // namespace

ResidualBlock::ResidualBlock(const BlockShape& shape, const NormFactory& norm) : shape_(shape) {
  for (const ConvShape& conv : convolutions(shape)) {
    const std::string number = std::to_string(convs_.size() + 1);
    convs_.push_back(register_module("conv" + number, conv2d(conv)));
    norms_.push_back(norm(conv.out));
    register_module("bn" + number, norms_.back().ptr());
  }
  if (!changes_shape(shape) || shape.padded_shortcut) return;
  torch::nn::Sequential downsample;
  downsample->push_back(conv2d({shape.in, shape.out, 1, shape.stride, shape.conv_bias}));
  downsample->push_back(norm(shape.out));
  downsample_ = register_module("downsample", downsample);
}

torch::Tensor ResidualBlock::shortcut(const torch::Tensor& input) {
  if (!changes_shape(shape_)) return input;
  if (downsample_) return downsample_->forward(input);
  using torch::indexing::Slice;
  const torch::Tensor smaller = input.index({Slice(), Slice(), Slice(0, torch::indexing::None, shape_.stride),
                                             Slice(0, torch::indexing::None, shape_.stride)});
  const std::int64_t more = shape_.out - shape_.in;
  return torch::constant_pad_nd(smaller, {0, 0, 0, 0, more / 2, more - more / 2});
}

void ResidualBlock::begin_as_identity() {
  for (auto& parameter : norms_.back().ptr()->named_parameters(false))
    if (parameter.key() == "weight") torch::nn::init::zeros_(parameter.value());
}

torch::Tensor ResidualBlock::forward(torch::Tensor input) {
  torch::Tensor x = input;
  for (std::size_t i = 0; i < convs_.size(); ++i) {
    x = norms_[i].forward(convs_[i]->forward(x));
    if (i + 1 < convs_.size()) x = x.relu_();
  }
  return add_relu(std::move(x), shortcut(input));
}

}  // namespace ronde::models::detail
