#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ronde/models/model.h"

namespace ronde::models::detail {

// Linear layers with ReLU between them; inputs of any shape are flattened.
class Mlp final : public Network {
 public:
  Mlp(const ModelOptions& options, const std::vector<std::int64_t>& hidden);
  torch::Tensor forward(torch::Tensor input) override;

 private:
  torch::Tensor through(std::size_t begin, std::size_t end, torch::Tensor x);  // those layers

  const bool recompute_;
  std::vector<torch::nn::Linear> layers_;
};

}  // namespace ronde::models::detail
