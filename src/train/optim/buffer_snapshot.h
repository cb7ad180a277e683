#pragma once

#include <vector>

#include <torch/torch.h>

namespace ronde::train {

// What a forward pass changes by itself (running means of norms), as it was before a step that may have to be skipped.
class BufferSnapshot {
 public:
  void keep(const torch::nn::Module& network);
  void put_back(const torch::nn::Module& network) const;
  // Where `skipped`, one value on the network's device, is not 0; nobody waits for it.
  void put_back_where(const torch::Tensor& skipped, const torch::nn::Module& network) const;

 private:
  std::vector<torch::Tensor> kept_;
};

}  // namespace ronde::train
