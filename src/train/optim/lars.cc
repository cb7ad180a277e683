#include "ronde/train/optim/lars.h"

#include <set>

#include "ronde/base/error.h"
#include "ronde/train/optim/optimizer_step.h"

namespace ronde::train {

using torch::Tensor;

void LarsOptions::serialize(torch::serialize::OutputArchive& archive) const {
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(lr);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(momentum);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(weight_decay);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(trust);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(nesterov);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(correct);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(scaled);
}

void LarsOptions::serialize(torch::serialize::InputArchive& archive) {
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, lr);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, momentum);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, weight_decay);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, trust);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(bool, nesterov);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(bool, correct);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(bool, scaled);
}

void LarsParamState::serialize(torch::serialize::OutputArchive& archive) const {
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(momentum_buffer);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(velocity);
}

void LarsParamState::serialize(torch::serialize::InputArchive& archive) {
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(Tensor, momentum_buffer);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(Tensor, velocity);
}

Lars::Lars(const std::vector<torch::optim::OptimizerParamGroup>& groups, LarsOptions defaults)
    : Optimizer(groups, std::make_unique<LarsOptions>(defaults)) {}

Tensor trusted(const Tensor& ratio, const Tensor& norm, const Tensor& other_norm) {
  return torch::where(norm.gt(0).logical_and(other_norm.gt(0)), ratio, torch::ones_like(ratio));
}

Tensor Lars::step(LossClosure closure) {
  return step_each<LarsOptions>(
      *this, closure, [this](Tensor& parameter, const LarsOptions& options) { step_one(parameter, options); });
}

void Lars::step_one(Tensor& parameter, const LarsOptions& options) {
  const Tensor gradient = parameter.grad().is_sparse() ? parameter.grad().to_dense() : parameter.grad();
  const double decay = options.weight_decay(), momentum = options.momentum();
  Tensor change = decay == 0 ? gradient.clone() : gradient.add(parameter, decay);
  if (options.scaled()) {
    const Tensor weights_norm = parameter.norm(), gradient_norm = gradient.norm();
    const Tensor ratio = weights_norm * options.trust() / (gradient_norm + weights_norm * decay);
    change.mul_(trusted(ratio, weights_norm, gradient_norm));
  }
  if (momentum == 0) {
    parameter.sub_(change, options.lr());
    return;
  }
  auto& kept = state()[parameter.unsafeGetTensorImpl()];
  if (!kept) kept = std::make_unique<LarsParamState>();
  auto& mine = static_cast<LarsParamState&>(*kept);
  // The rate that goes into what is kept, and the one that comes after it.
  const double inner = options.correct() ? 1 : options.lr(), outer = options.correct() ? options.lr() : 1;
  Tensor& buffer = options.correct() ? mine.momentum_buffer() : mine.velocity();
  if (!buffer.defined()) buffer = torch::zeros_like(parameter);
  buffer.mul_(momentum).add_(change, inner);
  parameter.sub_(buffer, options.nesterov() ? momentum * outer : outer);
  if (options.nesterov()) parameter.sub_(change, options.lr());
}

void Lars::save(torch::serialize::OutputArchive& archive) const {
  torch::optim::serialize<LarsParamState, LarsOptions>(archive, *this);
}

void Lars::load(torch::serialize::InputArchive& archive) {
  torch::optim::serialize<LarsParamState, LarsOptions>(archive, *this);
}

void require_norms(const torch::optim::Optimizer& optimizer, const torch::nn::Module& network) {
  if (!dynamic_cast<const Lars*>(&optimizer)) return;
  std::set<const void*> scaled;
  for (const auto& group : optimizer.param_groups())
    if (static_cast<const LarsOptions&>(group.options()).scaled())
      for (const Tensor& parameter : group.params()) scaled.insert(parameter.unsafeGetTensorImpl());
  for (const auto& item : network.named_parameters()) {
    const Tensor& parameter = item.value();
    if (parameter.dim() < 2 || !scaled.contains(parameter.unsafeGetTensorImpl())) continue;
    if (parameter.detach().norm().item<double>() > 0) continue;
    throw Error::bad_input(
        "optimizer.name is 'lars', which needs the norm of each layer's weights, but that of '{}' is zero: start with "
        "other weights (train.seed, model.weights) or use another optimizer",
        item.key());
  }
}

}  // namespace ronde::train
