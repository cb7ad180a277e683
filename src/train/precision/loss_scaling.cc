#include "ronde/train/precision/loss_scaling.h"

#include <limits>

#include "ronde/base/error.h"
#include "ronde/train/loop/agree.h"
#include "ronde/train/optim/finite.h"

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

double LossScaling::factor() const {
  return overflowed_ ? std::numeric_limits<double>::quiet_NaN() : scaler_.scale;
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

bool LossScaling::unscale(std::int64_t step) {
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
  return false;
}

void give_up_scaling(std::int64_t step, const LossScaler& scaler, const torch::nn::Module& network) {
  throw Error(
      Error::Kind::System,
      fmt::format("gradients overflow in f16 in step {}, the last of {} in a row, and lowering the loss scale does not "
                  "help (it is {} now): the first tensor that is not finite is {}; train.precision = bf16, a smaller "
                  "optimizer.lr or a warm-up (schedule.warmup) may help",
                  step, scaler.in_a_row, scaler.scale, first_not_finite(network).value_or("the loss of another rank")));
}

}  // namespace ronde::train
