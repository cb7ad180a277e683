#include "ronde/train/precision/step_scaling.h"

#include "ronde/base/error.h"
#include "ronde/train/optim/finite.h"
#include "ronde/train/precision.h"
#include "ronde/train/precision/device_scaling.h"
#include "ronde/train/precision/loss_scaling.h"

namespace ronde::train {

// As the gradient of the loss: a product would be two kernels more.
torch::Tensor StepScaling::first_gradient(const torch::Tensor& loss, double share) const {
  return torch::full_like(loss, share);
}

std::unique_ptr<StepScaling> make_step_scaling(const Session& session, torch::nn::Module& network, Fused* fused,
                                               bool local) {
  if (parse_precision(session.options().precision) != Precision::F16) return std::make_unique<StepScaling>();
  if (!fused || (local && session.size() > 1)) return std::make_unique<LossScaling>(session, network);
  auto scaling = std::make_unique<DeviceScaling>(network, scaler_of(session.options().loss_scale));
  fused->set_scaling({}, scaling->overflow());
  return scaling;
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
