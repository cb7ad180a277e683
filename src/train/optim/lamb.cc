#include "ronde/train/optim/lamb.h"

#include <cmath>

#include "ronde/train/optim/lars.h"
#include "ronde/train/optim/optimizer_step.h"

namespace ronde::train {

using torch::Tensor;

void LambOptions::serialize(torch::serialize::OutputArchive& archive) const {
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(lr);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(betas);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(eps);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(weight_decay);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(scaled);
}

void LambOptions::serialize(torch::serialize::InputArchive& archive) {
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, lr);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(Betas, betas);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, eps);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, weight_decay);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(bool, scaled);
}

void LambParamState::serialize(torch::serialize::OutputArchive& archive) const {
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(step);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(exp_avg);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(exp_avg_sq);
}

void LambParamState::serialize(torch::serialize::InputArchive& archive) {
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(std::int64_t, step);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(Tensor, exp_avg);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(Tensor, exp_avg_sq);
}

Tensor Lamb::step(LossClosure closure) {
  return step_each<LambOptions>(
      *this, closure, [this](Tensor& parameter, const LambOptions& options) { step_one(parameter, options); });
}

void Lamb::step_one(Tensor& parameter, const LambOptions& options) {
  const Tensor gradient = parameter.grad().is_sparse() ? parameter.grad().to_dense() : parameter.grad();
  auto& kept = state()[parameter.unsafeGetTensorImpl()];
  if (!kept) {
    auto fresh = std::make_unique<LambParamState>();
    fresh->exp_avg(torch::zeros_like(parameter)).exp_avg_sq(torch::zeros_like(parameter));
    kept = std::move(fresh);
  }
  auto& mine = static_cast<LambParamState&>(*kept);
  const auto [beta1, beta2] = options.betas();
  const auto count = static_cast<double>(mine.step() + 1);
  mine.step(mine.step() + 1);
  mine.exp_avg().mul_(beta1).add_(gradient, 1 - beta1);
  mine.exp_avg_sq().mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
  const double first = 1 - std::pow(beta1, count), second = 1 - std::pow(beta2, count);
  Tensor change = mine.exp_avg_sq().div(second).sqrt_().add_(options.eps()).reciprocal_();
  change.mul_(mine.exp_avg()).div_(first);
  if (options.weight_decay() != 0) change.add_(parameter, options.weight_decay());
  if (options.scaled()) {
    const Tensor weights_norm = parameter.norm(), change_norm = change.norm();
    change.mul_(trusted(weights_norm / change_norm, weights_norm, change_norm));
  }
  parameter.sub_(change, options.lr());
}

void Lamb::save(torch::serialize::OutputArchive& archive) const {
  torch::optim::serialize<LambParamState, LambOptions>(archive, *this);
}

void Lamb::load(torch::serialize::InputArchive& archive) {
  torch::optim::serialize<LambParamState, LambOptions>(archive, *this);
}

}  // namespace ronde::train
