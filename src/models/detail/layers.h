#pragma once

#include <cstdint>

#include "ronde/models/network.h"

// What convolutional networks are put together from.
namespace ronde::models::detail {

struct ConvShape {
  std::int64_t in, out, kernel = 3, stride = 1;
  bool bias = false;
};
// Keeps the extent of the image, but for the stride: padded by half of the (odd) kernel.
torch::nn::Conv2d conv2d(const ConvShape& shape);

// The weights of all convolutions from a normal distribution by their outputs (He), as torchvision has them.
void init_convolutions(torch::nn::Module& network);

}  // namespace ronde::models::detail
