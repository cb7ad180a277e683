#include "ronde/models/detail/unet.h"

#include <string>

#include "ronde/base/error.h"
#include "ronde/models/detail/layers.h"
#include "ronde/models/recompute.h"

namespace ronde::models::detail {
namespace {

constexpr int kTimesDown = 4;

// An image of odd extent loses a row on its way down: put back at the edge.
torch::Tensor pad_to(const torch::Tensor& x, const torch::Tensor& like) {
  const std::int64_t rows = like.size(2) - x.size(2), columns = like.size(3) - x.size(3);
  if (rows == 0 && columns == 0) return x;
  return torch::constant_pad_nd(x, {0, columns, 0, rows});
}

}  // namespace

DoubleConv::DoubleConv(std::int64_t in, std::int64_t out, bool bias, const NormFactory& norm)
    : conv1_(register_module("conv1", conv2d({.in = in, .out = out, .bias = bias}))),
      conv2_(register_module("conv2", conv2d({.in = out, .out = out, .bias = bias}))),
      bn1_(norm(out)),
      bn2_(norm(out)) {
  register_module("bn1", bn1_.ptr());
  register_module("bn2", bn2_.ptr());
}

torch::Tensor DoubleConv::forward(torch::Tensor input) {
  torch::Tensor x = bn1_.forward(conv1_->forward(input));
  x = bn2_.forward(conv2_->forward(x.relu_()));
  return x.relu_();
}

UNet::UNet(const ModelOptions& options) : recompute_(options.recompute) {
  if (options.height < 1 << kTimesDown || options.width < 1 << kTimesDown)
    throw Error::bad_input("model unet needs inputs of at least {0} x {0}, got {1} x {2}", 1 << kTimesDown,
                           options.height, options.width);
  const std::int64_t filters = options.filters > 0 ? options.filters : 64;
  const auto block = [&](const std::string& name, std::int64_t in, std::int64_t out) {
    return register_module(name, std::make_shared<DoubleConv>(in, out, options.conv_bias, options.norm));
  };
  down_.push_back(block("down0", options.channels, filters));
  for (int i = 0; i < kTimesDown; ++i)
    down_.push_back(block("down" + std::to_string(i + 1), filters << i, filters << (i + 1)));
  for (int i = kTimesDown - 1; i >= 0; --i) {
    const std::string number = std::to_string(kTimesDown - i);
    const std::int64_t out = filters << i;
    enlarge_.push_back(register_module(
        "enlarge" + number, torch::nn::ConvTranspose2d(torch::nn::ConvTranspose2dOptions(2 * out, out, 2).stride(2))));
    up_.push_back(block("up" + number, 2 * out, out));
  }
  head_ = register_module("head", conv2d({.in = filters, .out = options.classes, .kernel = 1, .bias = true}));
  init_convolutions(*this);
}

torch::Tensor UNet::forward(torch::Tensor input) {
  std::vector<torch::Tensor> beside;
  torch::Tensor x = run_part(*down_[0], input, recompute_);
  for (std::size_t i = 1; i < down_.size(); ++i) {
    beside.push_back(x);
    x = run_part(*down_[i], torch::max_pool2d(x, 2), recompute_);
  }
  for (std::size_t i = 0; i < up_.size(); ++i) {
    const torch::Tensor& left = beside[beside.size() - 1 - i];
    x = run_part(*up_[i], torch::cat({left, pad_to(enlarge_[i]->forward(x), left)}, 1), recompute_);
  }
  return head_->forward(x);
}

}  // namespace ronde::models::detail
