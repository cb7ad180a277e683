#include "ronde/models/detail/autoencoder.h"

#include <string>
#include <utility>

#include "ronde/models/detail/layers.h"

namespace ronde::models::detail {
namespace {

torch::Tensor enlarge(const torch::Tensor& x, torch::IntArrayRef size) {
  return torch::upsample_nearest2d(x, {size[2], size[3]});
}

}  // namespace

Autoencoder::Stage Autoencoder::stage(const std::string& part, int number, torch::nn::Conv2d conv, std::int64_t out,
                                      const NormFactory& norm) {
  Stage made{std::move(conv), norm(out)};
  const std::string suffix = std::to_string(number);
  register_module(part + "_conv" + suffix, made.conv);
  register_module(part + "_bn" + suffix, made.norm.ptr());
  return made;
}

Autoencoder::Autoencoder(const ModelOptions& options) {
  const std::int64_t filters = options.filters > 0 ? options.filters : 32;
  std::int64_t in = options.channels;
  for (int i = 0; i < 3; ++i) {
    const std::int64_t out = filters << i;
    encoder_.push_back(stage("encoder", i + 1,
                             conv2d({.in = in, .out = out, .stride = 2, .bias = options.conv_bias}), out, options.norm));
    in = out;
  }
  for (int i = 1; i >= 0; --i) {
    const std::int64_t out = filters << i;
    decoder_.push_back(
        stage("decoder", 2 - i, conv2d({.in = 2 * out, .out = out, .bias = options.conv_bias}), out, options.norm));
  }
  last_ = register_module("decoder_conv3", conv2d({.in = filters, .out = options.channels, .bias = true}));
  init_convolutions(*this);
}

torch::Tensor Autoencoder::forward(torch::Tensor input) {
  std::vector<std::vector<std::int64_t>> sizes;
  torch::Tensor x = input;
  const auto through = [&x](Stage& stage) {
    x = stage.norm.forward(stage.conv->forward(x));
    x = x.relu_();
  };
  for (Stage& stage : encoder_) {
    sizes.push_back(x.sizes().vec());
    through(stage);
  }
  for (Stage& stage : decoder_) {
    x = enlarge(x, sizes.back());
    sizes.pop_back();
    through(stage);
  }
  return last_->forward(enlarge(x, sizes.front()));
}

}  // namespace ronde::models::detail
