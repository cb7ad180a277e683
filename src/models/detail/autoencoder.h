#pragma once

#include <vector>

#include "ronde/models/model.h"

namespace ronde::models::detail {

// Squeezes an image through a small waist and gives it back: three convolutions of stride 2 (encoder1 to 3), then each
// size is restored by repeating pixels before a convolution (decoder1 to 3).
class Autoencoder final : public Network {
 public:
  explicit Autoencoder(const ModelOptions& options);
  torch::Tensor forward(torch::Tensor input) override;

 private:
  struct Stage {
    torch::nn::Conv2d conv;
    torch::nn::AnyModule norm;
  };
  Stage stage(const std::string& part, int number, torch::nn::Conv2d conv, std::int64_t out, const NormFactory& norm);

  std::vector<Stage> encoder_, decoder_;
  torch::nn::Conv2d last_ = nullptr;
};

}  // namespace ronde::models::detail
