#include "ronde/models/detail/lenet.h"

#include "ronde/base/error.h"

namespace ronde::models::detail {
namespace {

std::int64_t after_convolutions(std::int64_t extent) {
  return ((extent - 4) / 2 - 4) / 2;
}

}  // namespace

LeNet::LeNet(const ModelOptions& options)
    : conv1_(register_module("conv1", torch::nn::Conv2d(options.channels, 20, 5))),
      conv2_(register_module("conv2", torch::nn::Conv2d(20, 50, 5))) {
  if (options.height < 16 || options.width < 16)
    throw Error::bad_input("model lenet needs inputs of at least 16 x 16, got {} x {}", options.height, options.width);
  const std::int64_t features = 50 * after_convolutions(options.height) * after_convolutions(options.width);
  fc1_ = register_module("fc1", torch::nn::Linear(features, 500));
  fc2_ = register_module("fc2", torch::nn::Linear(500, options.classes));
}

torch::Tensor LeNet::forward(torch::Tensor input) {
  torch::Tensor x = torch::max_pool2d(conv1_->forward(input).relu_(), 2);
  x = torch::max_pool2d(conv2_->forward(x).relu_(), 2);
  return fc2_->forward(fc1_->forward(x.flatten(1)).relu_());
}

}  // namespace ronde::models::detail
