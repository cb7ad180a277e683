#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <torch/torch.h>

namespace ronde::models {

// The class of what has no part in a loss of single labels, as in PyTorch.
inline constexpr std::int64_t kIgnoredClass = -100;

struct LossOptions {
  // single-label: outputs [batch, classes, ...], targets [batch, ...] are classes (cross entropy), or shares of all
  // classes, as many as there are outputs;
  // multi-label: targets have the shape of the outputs, 1 where a label holds and 0 where not (binary cross entropy);
  // reconstruction: targets are what the outputs should be (mean squared error).
  std::string kind = "single-label";
  // How far outputs are from labels. entropy: as above. focal: cross entropy times (1 - p)^2, where p is the
  // probability of what is right, so that what is easy counts little (Lin et al., arXiv:1708.02002). Of single labels
  // of pixels: dice: 1 - the mean over classes of (2 |both| + 1) / (|output| + |target| + 1), by probabilities, for
  // each sample; dice-entropy: the sum of dice and entropy.
  std::string form = "entropy";
  // Of single and multiple labels: how much each class counts; none: all alike. Weighted losses are summed up and
  // divided by numbers of pixels and samples, not by sums of weights. Dice: the weights of a mean over classes.
  std::vector<double> class_weights = {};
  bool ignores = false;        // single labels of pixels: some may be kIgnoredClass; means are over the others
  double label_smoothing = 0;  // share of a label that is spread over all classes, or over yes and no
  bool sum = false;  // over samples, rather than their mean: what adds up exactly over batches of different sizes
};

using Loss = std::function<torch::Tensor(const torch::Tensor& output, const torch::Tensor& target)>;

// FAILS WITH: BadInput for a kind or a form that is none, or a smoothing outside of 0 to 1, or with a form that has
// none. The loss FAILS WITH: BadInput for a target on the CPU that is no class, or of another shape than it should
// have.
Loss make_loss(const LossOptions& options);

std::vector<std::string> loss_names();
std::vector<std::string> loss_forms();  // besides entropy

}  // namespace ronde::models
