#pragma once

#include <torch/torch.h>

namespace ronde::models {

// A network that turns a batch of inputs into a batch of outputs, such as logits.
class Network : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(torch::Tensor input) = 0;
};

}  // namespace ronde::models
