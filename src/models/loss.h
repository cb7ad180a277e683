#pragma once

#include <functional>
#include <string>
#include <vector>

#include <torch/torch.h>

namespace ronde::models {

struct LossOptions {
  // single-label: outputs [batch, classes, ...], targets [batch, ...] are classes (cross entropy), or shares of all
  // classes, as many as there are outputs;
  // multi-label: targets have the shape of the outputs, 1 where a label holds and 0 where not (binary cross entropy);
  // reconstruction: targets are what the outputs should be (mean squared error).
  std::string kind = "single-label";
  double label_smoothing = 0;  // share of a label that is spread over all classes, or over yes and no
  bool sum = false;  // over samples, rather than their mean: what adds up exactly over batches of different sizes
};

using Loss = std::function<torch::Tensor(const torch::Tensor& output, const torch::Tensor& target)>;

// FAILS WITH: BadInput for a kind that is none, or a smoothing outside of 0 to 1.
// The loss FAILS WITH: BadInput for a target on the CPU that is no class, or of another shape than it should have.
Loss make_loss(const LossOptions& options);

std::vector<std::string> loss_names();

}  // namespace ronde::models
