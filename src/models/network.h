#pragma once

#include <torch/torch.h>

namespace ronde::models {

// A network that turns a batch of inputs into a batch of outputs, such as logits.
class Network : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(torch::Tensor input) = 0;
};

// Lays out the weights of all convolutions with the channels last; activations then follow by themselves. Other
// networks stay as they are. Values, names and shapes do not change.
// REQUIRES: no optimizer has state for the network yet, and no gradients are there.
void to_channels_last(torch::nn::Module& network);

}  // namespace ronde::models
