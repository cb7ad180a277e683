#include "ronde/train/precision/device_scaling.h"

#include <limits>
#include <vector>

namespace ronde::train {

DeviceScaling::DeviceScaling(const torch::nn::Module& network, const LossScaler& scaler) : network_(network) {
  const auto options = torch::TensorOptions(torch::kFloat32).device(network.parameters().at(0).device());
  scale_ = torch::empty({1}, options);
  good_ = torch::empty({1}, options.dtype(torch::kInt32));
  overflow_ = torch::zeros({1}, options);
  restore(scaler);
}

void DeviceScaling::restore(const LossScaler& scaler) {
  counted_ = scaler;
  scale_.fill_(scaler.scale);
  good_.fill_(scaler.good);
}

// The host hears of a step's overflow when the next one is under way; weights are those of the last.
std::optional<LossScaler> DeviceScaling::now() const {
  LossScaler now = counted_;
  now.scale = scale_.item<double>();
  now.good = good_.item<std::int64_t>();
  return now;
}

// By the rules by which the device has decided.
void DeviceScaling::finished(std::int64_t step, bool overflow) {
  if (!overflow) return counted_.step_was_good();
  counted_.step_overflowed();
  if (counted_.hopeless()) give_up_scaling(step, counted_, network_);
}

torch::Tensor DeviceScaling::first_gradient(const torch::Tensor& loss, double share) const {
  const torch::Tensor none = torch::full({1}, std::numeric_limits<float>::quiet_NaN(), scale_.options());
  return torch::where(loss.detach().isfinite(), scale_, none).squeeze(0) * share;
}

bool DeviceScaling::unscale(std::int64_t, DistributedOptimizer& optimizer, const torch::Tensor& numbers,
                            bool measured) {
  optimizer.synchronize();
  const torch::NoGradGuard no_grad;
  if (measured) numbers.slice(0, 0, 2).div_(scale_.square());
  std::vector<torch::Tensor> gradients;
  for (const auto& parameter : network_.parameters())
    if (const auto& gradient = parameter.grad(); gradient.defined())
      gradients.push_back(gradient.is_sparse() ? gradient._values() : gradient);
  overflow_.zero_();
  torch::_amp_foreach_non_finite_check_and_unscale_(gradients, overflow_, scale_.reciprocal());
  buffers_.put_back_where(overflow_, network_);
  numbers.slice(0, 2, 3).copy_(overflow_);
  if (!counted_.dynamic) return true;
  torch::_amp_update_scale_(scale_, good_, overflow_, 2.0, 0.5, LossScaler::kGoodSteps);
  scale_.clamp_max_(LossScaler::kMost);
  return true;
}

}  // namespace ronde::train
