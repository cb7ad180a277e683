#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include <torch/torch.h>

namespace ronde::train {

struct LambOptions : public torch::optim::OptimizerCloneableOptions<LambOptions> {
  LambOptions(double rate = 1e-3) : lr_(rate) {}
  TORCH_ARG(double, lr);
  using Betas = std::tuple<double, double>;
  TORCH_ARG(Betas, betas) = std::make_tuple(0.9, 0.999);
  TORCH_ARG(double, eps) = 1e-6;
  TORCH_ARG(double, weight_decay) = 0;
  TORCH_ARG(bool, scaled) = true;  // false: Adam with decoupled decay, for biases and norms

 public:
  void serialize(torch::serialize::InputArchive& archive) override;
  void serialize(torch::serialize::OutputArchive& archive) const override;
  double get_lr() const override { return lr(); }
  void set_lr(double rate) override { lr(rate); }
};

struct LambParamState : public torch::optim::OptimizerCloneableParamState<LambParamState> {
  TORCH_ARG(std::int64_t, step) = 0;
  TORCH_ARG(torch::Tensor, exp_avg);
  TORCH_ARG(torch::Tensor, exp_avg_sq);

 public:
  void serialize(torch::serialize::InputArchive& archive) override;
  void serialize(torch::serialize::OutputArchive& archive) const override;
};

// Adam with the rate of each layer scaled by the norm of its weights, for large batches (You et al.: arXiv:1904.00962,
// algorithm 2, with the identity for phi). With weights w and gradient g of a layer, in step t:
//
//   m = beta1 * m + (1 - beta1) * g                 v = beta2 * v + (1 - beta2) * g^2
//   u = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay * w
//   w = w - lr * |w| / |u| * u
//
// Where |w| or |u| is zero the ratio is 1.
class Lamb : public torch::optim::Optimizer {
 public:
  Lamb(const std::vector<torch::optim::OptimizerParamGroup>& groups, LambOptions defaults)
      : Optimizer(groups, std::make_unique<LambOptions>(defaults)) {}
  Lamb(std::vector<torch::Tensor> parameters, LambOptions defaults)
      : Lamb({torch::optim::OptimizerParamGroup(std::move(parameters))}, std::move(defaults)) {}

  torch::Tensor step(LossClosure closure = nullptr) override;
  void save(torch::serialize::OutputArchive& archive) const override;
  void load(torch::serialize::InputArchive& archive) override;

 private:
  void step_one(torch::Tensor& parameter, const LambOptions& options);
};

}  // namespace ronde::train
