#include "ronde/models/detail/layers.h"

namespace ronde::models::detail {

torch::nn::Conv2d conv2d(const ConvShape& shape) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(shape.in, shape.out, shape.kernel)
                               .stride(shape.stride)
                               .padding(shape.kernel / 2)
                               .bias(shape.bias));
}

void init_convolutions(torch::nn::Module& network) {
  for (const auto& module : network.modules(false))
    if (auto* conv = module->as<torch::nn::Conv2d>())
      torch::nn::init::kaiming_normal_(conv->weight, 0.0, torch::kFanOut, torch::kReLU);
}

}  // namespace ronde::models::detail
