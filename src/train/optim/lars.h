#pragma once

#include <string>
#include <vector>

#include <torch/torch.h>

namespace ronde::train {

struct LarsOptions : public torch::optim::OptimizerCloneableOptions<LarsOptions> {
  LarsOptions(double rate = 1.0) : lr_(rate) {}
  TORCH_ARG(double, lr);
  TORCH_ARG(double, momentum) = 0.9;
  TORCH_ARG(double, weight_decay) = 0;
  TORCH_ARG(double, trust) = 0.001;
  TORCH_ARG(bool, nesterov) = false;
  TORCH_ARG(bool, correct) = true;  // momentum correction
  TORCH_ARG(bool, scaled) = true;   // false: plain SGD, for biases and norms

 public:
  void serialize(torch::serialize::InputArchive& archive) override;
  void serialize(torch::serialize::OutputArchive& archive) const override;
  double get_lr() const override { return lr(); }
  void set_lr(double rate) override { lr(rate); }
};

struct LarsParamState : public torch::optim::OptimizerCloneableParamState<LarsParamState> {
  // Which of the two there is depends on `correct`; so a training that goes on with the other choice begins with a
  // momentum of zero rather than with one of another scale.
  TORCH_ARG(torch::Tensor, momentum_buffer);  // of scaled gradients
  TORCH_ARG(torch::Tensor, velocity);         // of scaled gradients times learning rates

 public:
  void serialize(torch::serialize::InputArchive& archive) override;
  void serialize(torch::serialize::OutputArchive& archive) const override;
};

// Layer-wise adaptive rate scaling, for large batches (You, Gitman, Ginsburg: arXiv:1708.03888). With weights w and
// gradient g of a layer, and norms |.| over the layer:
//
//   ratio = trust * |w| / (|g| + weight_decay * |w|)
//   v     = momentum * v + lr * ratio * (g + weight_decay * w)
//   w     = w - v                            (nesterov: w - (momentum * v + lr * ratio * (...)))
//
// That is as published, with correct(false). A velocity that holds learning rates is wrong by as much as the rate has
// changed since (Goyal et al.: arXiv:1706.02677, section 3); correct(true) multiplies it by the change, which is the
// same as to keep the rate out of it: u = momentum * u + ratio * (...); w = w - lr * u.
//
// Where |w| or |g| is zero the ratio is 1: a bias that begins at zero would otherwise never move.
class Lars : public torch::optim::Optimizer {
 public:
  Lars(const std::vector<torch::optim::OptimizerParamGroup>& groups, LarsOptions defaults);
  Lars(std::vector<torch::Tensor> parameters, LarsOptions defaults)
      : Lars({torch::optim::OptimizerParamGroup(std::move(parameters))}, std::move(defaults)) {}

  torch::Tensor step(LossClosure closure = nullptr) override;
  void save(torch::serialize::OutputArchive& archive) const override;
  void load(torch::serialize::InputArchive& archive) override;

 private:
  void step_one(torch::Tensor& parameter, const LarsOptions& options);
};

// The trust ratio of a layer, as a tensor, so that a GPU need not be waited for: `ratio` where both norms are above
// zero, 1 elsewhere.
torch::Tensor trusted(const torch::Tensor& ratio, const torch::Tensor& norm, const torch::Tensor& other_norm);

// A layer of weights that are all zero has no norm to go by: its first steps would be of any size. Biases and norms (of
// one dimension) may begin at zero.
// FAILS WITH: BadInput, naming the parameter, when the optimizer is a Lars that scales such a layer.
void require_norms(const torch::optim::Optimizer& optimizer, const torch::nn::Module& network);

}  // namespace ronde::train
