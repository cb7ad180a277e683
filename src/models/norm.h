#pragma once

#include <cstdint>
#include <functional>

#include <torch/torch.h>

namespace ronde::models {

// Makes the normalisation of so many channels, wherever a network has one. What it makes is a module from Tensor to
// Tensor; its parameters and buffers appear under the name of the place (bn1.weight, bn1.running_mean).
//
//   options.norm = [&](std::int64_t channels) { return torch::nn::AnyModule(SyncBatchNorm(channels, group)); };
using NormFactory = std::function<torch::nn::AnyModule(std::int64_t channels)>;

NormFactory batch_norm();  // torch::nn::BatchNorm2d, of each rank by itself
NormFactory no_norm();     // leaves the values as they are

}  // namespace ronde::models
