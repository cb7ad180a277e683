#include <type_traits>

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>

#include "ronde/train/optim/fused_kernels.h"

namespace ronde::train {

using torch::Tensor;

template <class Options, class State>
std::vector<Tensor> FusedKernelOfAdam<Options, State>::tensors(State& state, const Options& options,
                                                               const Tensor& parameter) {
  std::vector<Tensor*> fields{&state.exp_avg(), &state.exp_avg_sq()};
  if (options.amsgrad()) fields.push_back(&state.max_exp_avg_sq());
  std::vector<Tensor> all;
  for (Tensor* field : fields) {
    *field = field->defined() ? laid_out_as(parameter, *field) : torch::zeros_like(parameter);
    all.push_back(*field);
  }
  return all;
}

template <class Options, class State>
void FusedKernelOfAdam<Options, State>::launch(const FusedBatch& batch, const Options& options, const Tensor& rate,
                                               const FusedScaling& scaling) {
  constexpr bool kMaximize = false;  // torch::optim has no such option
  const auto [beta1, beta2] = options.betas();
  if constexpr (std::is_same_v<Options, torch::optim::AdamWOptions>)
    at::_fused_adamw_(batch.parameters, batch.gradients, batch.state[0], batch.state[1], batch.state[2], batch.counts,
                      rate, beta1, beta2, options.weight_decay(), options.eps(), options.amsgrad(), kMaximize,
                      scaling.grad_scale, scaling.found_inf);
  else
    at::_fused_adam_(batch.parameters, batch.gradients, batch.state[0], batch.state[1], batch.state[2], batch.counts,
                     rate, beta1, beta2, options.weight_decay(), options.eps(), options.amsgrad(), kMaximize,
                     scaling.grad_scale, scaling.found_inf);
}

template struct FusedKernelOfAdam<torch::optim::AdamOptions, torch::optim::AdamParamState>;
template struct FusedKernelOfAdam<torch::optim::AdamWOptions, torch::optim::AdamWParamState>;

}  // namespace ronde::train
