#include "ronde/train/precision/loss_scaling.h"

#include <limits>

#include "ronde/train/loop/agree.h"

namespace ronde::train {

LossScaling::LossScaling(const Session& session, torch::nn::Module& network)
    : network_(network),
      group_(session.world()),
      reduced_(session.options().sync_every == 1),
      scaler_(scaler_of(session.options().loss_scale)) {}

void LossScaling::begin_step() {
  overflowed_ = false;
  buffers_.keep(network_);
}

torch::Tensor LossScaling::first_gradient(const torch::Tensor& loss, double share) const {
  return StepScaling::first_gradient(loss,
                                     overflowed_ ? std::numeric_limits<double>::quiet_NaN() : scaler_.scale * share);
}

bool LossScaling::accepts_overflow() {
  overflowed_ = true;
  return true;
}

// One pass over the memory, and one answer from the device.
bool LossScaling::gradients_finite() {
  std::vector<torch::Tensor> gradients;
  for (const auto& parameter : network_.parameters())
    if (const auto& gradient = parameter.grad(); gradient.defined())
      gradients.push_back(gradient.is_sparse() ? gradient._values() : gradient);
  if (gradients.empty()) return !overflowed_;
  const auto options = torch::TensorOptions(torch::kFloat32).device(gradients.front().device());
  torch::Tensor found = torch::zeros({1}, options);
  const torch::Tensor inverse = torch::full({1}, 1 / scaler_.scale, options);
  torch::_amp_foreach_non_finite_check_and_unscale_(gradients, found, inverse);
  return found.item<float>() == 0;
}

bool LossScaling::unscale(std::int64_t step, DistributedOptimizer& optimizer, const torch::Tensor& numbers,
                          bool measured) {
  if (measured) numbers.slice(0, 0, 2).div_(scaler_.scale * scaler_.scale);
  optimizer.synchronize();
  const torch::NoGradGuard no_grad;
  bool overflow = !gradients_finite();
  if (!reduced_) overflow = on_any_rank(overflow, "overflow of a step", group_);
  if (!overflow) {
    scaler_.step_was_good();
    return true;
  }
  scaler_.step_overflowed();
  if (scaler_.hopeless()) give_up_scaling(step, scaler_, network_);
  buffers_.put_back(network_);
  optimizer.zero_grad();
  return false;
}

}  // namespace ronde::train
