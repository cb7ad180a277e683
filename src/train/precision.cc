#include "ronde/train/precision.h"

#include <ATen/autocast_mode.h>

namespace ronde::train {
namespace {

torch::ScalarType type_of(Precision precision) {
  if (precision == Precision::BF16) return torch::kBFloat16;
  return precision == Precision::F16 ? torch::kFloat16 : torch::kFloat32;
}

bool is_short(const torch::Tensor& tensor) {
  return tensor.scalar_type() == torch::kBFloat16 || tensor.scalar_type() == torch::kFloat16;
}

}  // namespace

Autocast::Autocast(Precision precision, torch::DeviceType device)
    : device_(device), active_(precision != Precision::F32) {
  if (!active_) return;
  before_ = at::autocast::is_autocast_enabled(device);
  type_before_ = at::autocast::get_autocast_dtype(device);
  at::autocast::set_autocast_dtype(device, type_of(precision));
  at::autocast::set_autocast_enabled(device, true);
  at::autocast::increment_nesting();
}

// Converted weights are kept while it lives, for networks that use one twice; the next step has other weights.
Autocast::~Autocast() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, before_);
  at::autocast::set_autocast_dtype(device_, type_before_);
}

torch::Tensor forward_in(Precision precision, models::Network& network, const torch::Tensor& inputs) {
  torch::Tensor outputs;
  {
    const Autocast autocast(precision, inputs.device().type());
    outputs = network.forward(inputs);
  }
  return is_short(outputs) ? outputs.to(torch::kFloat32) : outputs;
}

}  // namespace ronde::train
