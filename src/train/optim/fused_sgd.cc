#include <ATen/ops/_fused_sgd.h>

#include "ronde/train/optim/fused_kernels.h"

namespace ronde::train {

using torch::Tensor;
using SgdKernel = FusedKernel<torch::optim::SGD>;

// The first momentum is the gradient itself. Without dampening that is what a momentum of zero becomes: such a first
// step is like any other, and one that is skipped (found_inf) leaves a momentum to go on from.
bool SgdKernel::is_first(const State& state, const Options& options) {
  return options.dampening() != 0 && !state.momentum_buffer().defined();
}

std::vector<Tensor> SgdKernel::tensors(State& state, const Options&, const Tensor& parameter) {
  Tensor& momentum = state.momentum_buffer();
  momentum = momentum.defined() ? laid_out_as(parameter, momentum) : torch::zeros_like(parameter);
  return {momentum};
}

void SgdKernel::launch(const FusedBatch& batch, const Options& options, const Tensor& rate,
                       const FusedScaling& scaling) {
  constexpr bool kMaximize = false;  // torch::optim has no such option
  at::_fused_sgd_(batch.parameters, batch.gradients, batch.state[0], options.weight_decay(), options.momentum(), rate,
                  options.dampening(), options.nesterov(), kMaximize, batch.first, scaling.grad_scale,
                  scaling.found_inf);
}

}  // namespace ronde::train
