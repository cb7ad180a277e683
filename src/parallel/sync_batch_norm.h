#pragma once

#include <cstdint>

#include <torch/torch.h>

#include "ronde/comm/group.h"

namespace ronde::parallel {

struct SyncBatchNormOptions {
  double eps = 1e-5;
  double momentum = 0.1;  // of the running mean and variance
};

// Batch norm over the batches of all ranks of a group: with n ranks the same as one rank with the whole batch, also
// when their shares differ in size or are empty. Inputs have channels in dimension 1; any number of dimensions from 2
// on. Parameters and buffers are called as torch's batch norms call theirs. In evaluation nothing travels.
//
// Every forward pass in training, and its backward pass, waits for all ranks: all must run the same ones.
class SyncBatchNormImpl : public torch::nn::Module {
 public:
  SyncBatchNormImpl(std::int64_t channels, comm::Group group, SyncBatchNormOptions options = {});

  // FAILS WITH: as Handle::wait(); BadInput when all ranks together have fewer than two values a channel.
  torch::Tensor forward(const torch::Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  torch::Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 private:
  comm::Group group_;
  SyncBatchNormOptions options_;
};
TORCH_MODULE(SyncBatchNorm);

}  // namespace ronde::parallel
