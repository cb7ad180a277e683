#pragma once

#include <torch/torch.h>

namespace ronde::train {

// What step() of an optimizer is around its arithmetic: evaluates the closure, where there is one, and calls
// step_one(parameter, options) for every parameter that has a gradient. Returns what the closure did.
template <class Options, class StepOne>
torch::Tensor step_each(torch::optim::Optimizer& optimizer, const torch::optim::Optimizer::LossClosure& closure,
                        StepOne step_one) {
  const torch::NoGradGuard no_grad;
  torch::Tensor loss;
  if (closure) {
    const torch::AutoGradMode with_grad(true);
    loss = closure();
  }
  for (auto& group : optimizer.param_groups()) {
    const auto& options = static_cast<const Options&>(group.options());
    for (torch::Tensor& parameter : group.params())
      if (parameter.grad().defined()) step_one(parameter, options);
  }
  return loss;
}

}  // namespace ronde::train
