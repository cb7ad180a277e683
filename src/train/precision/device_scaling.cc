#include "ronde/train/precision/device_scaling.h"

#include <limits>
#include <vector>

namespace ronde::train {

DeviceScaling::DeviceScaling(const torch::nn::Module& network, const LossScaler& scaler) : network_(network) {
  const auto options = torch::TensorOptions(torch::kFloat32).device(network.parameters().at(0).device());
  scale_ = torch::empty({1}, options);
  good_ = torch::empty({1}, options.dtype(torch::kInt32));
  overflow_ = torch::zeros({1}, options);
  set(scaler);
}

void DeviceScaling::set(const LossScaler& scaler) {
  dynamic_ = scaler.dynamic;
  scale_.fill_(scaler.scale);
  good_.fill_(scaler.good);
}

LossScaler DeviceScaling::now(LossScaler counted) const {
  counted.scale = scale_.item<double>();
  counted.good = good_.item<std::int64_t>();
  return counted;
}

torch::Tensor DeviceScaling::factor(const torch::Tensor& loss) const {
  const torch::Tensor none = torch::full({1}, std::numeric_limits<float>::quiet_NaN(), scale_.options());
  return torch::where(loss.detach().isfinite(), scale_, none).squeeze(0);
}

const torch::Tensor& DeviceScaling::unscale() {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> gradients;
  for (const auto& parameter : network_.parameters())
    if (const auto& gradient = parameter.grad(); gradient.defined())
      gradients.push_back(gradient.is_sparse() ? gradient._values() : gradient);
  overflow_.zero_();
  torch::_amp_foreach_non_finite_check_and_unscale_(gradients, overflow_, scale_.reciprocal());
  buffers_.put_back_where(overflow_, network_);
  if (!dynamic_) return overflow_;
  torch::_amp_update_scale_(scale_, good_, overflow_, 2.0, 0.5, LossScaler::kGoodSteps);
  scale_.clamp_max_(LossScaler::kMost);
  return overflow_;
}

}  // namespace ronde::train
