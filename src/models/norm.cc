#include "ronde/models/norm.h"

namespace ronde::models {

NormFactory batch_norm() {
  return [](std::int64_t channels) { return torch::nn::AnyModule(torch::nn::BatchNorm2d(channels)); };
}

NormFactory no_norm() {
  return [](std::int64_t) { return torch::nn::AnyModule(torch::nn::Identity()); };
}

}  // namespace ronde::models
