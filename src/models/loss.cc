#include "ronde/models/loss.h"

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::models {
namespace {

namespace F = torch::nn::functional;

void check_classes(const torch::Tensor& output, const torch::Tensor& target) {
  if (!target.is_cpu() || target.numel() == 0) return;  // on a GPU to look means to wait
  const auto [low, high] = torch::aminmax(target);
  const auto least = low.item<std::int64_t>(), most = high.item<std::int64_t>();
  if (least >= 0 && most < output.size(1)) return;
  throw Error::bad_input("label {} is out of range: the model has {} classes (0 to {})", least < 0 ? least : most,
                         output.size(1), output.size(1) - 1);
}

void check_shape(const torch::Tensor& output, const torch::Tensor& target) {
  if (output.sizes() != target.sizes())
    throw Error::bad_input("targets have shape {}, but the outputs of the model have shape {}",
                           c10::str(target.sizes()), c10::str(output.sizes()));
}

// The sum over samples of what is averaged within each.
torch::Tensor reduced(const torch::Tensor& each, bool sum) {
  const torch::Tensor mean = each.mean();
  return sum ? mean * each.size(0) : mean;
}

torch::Tensor single_label(const torch::Tensor& output, const torch::Tensor& target, const LossOptions& options) {
  if (target.is_floating_point())
    check_shape(output, target);
  else
    check_classes(output, target);
  const auto entropy = [&](F::CrossEntropyFuncOptions::reduction_t reduction) {
    const auto with = F::CrossEntropyFuncOptions().reduction(reduction).label_smoothing(options.label_smoothing);
    return F::cross_entropy(output, target, with);
  };
  // One number a sample torch sums itself, in fewer kernels.
  if (output.dim() == 2) return options.sum ? entropy(torch::kSum) : entropy(torch::kMean);
  return reduced(entropy(torch::kNone), options.sum);
}

torch::Tensor multi_label(const torch::Tensor& output, const torch::Tensor& target, const LossOptions& options) {
  check_shape(output, target);
  torch::Tensor wanted = target.to(output.dtype());
  if (options.label_smoothing > 0) wanted = wanted * (1 - options.label_smoothing) + options.label_smoothing / 2;
  return reduced(torch::binary_cross_entropy_with_logits(output, wanted, {}, {}, at::Reduction::None), options.sum);
}

torch::Tensor reconstruction(const torch::Tensor& output, const torch::Tensor& target, const LossOptions& options) {
  check_shape(output, target);
  return reduced(torch::mse_loss(output, target, at::Reduction::None), options.sum);
}

}  // namespace

std::vector<std::string> loss_names() {
  return {"single-label", "multi-label", "reconstruction"};
}

Loss make_loss(const LossOptions& options) {
  if (options.label_smoothing < 0 || options.label_smoothing > 1)
    throw Error::bad_input("label smoothing must be between 0 and 1, got {}", options.label_smoothing);
  const auto bound = [&](auto function) {
    return [options, function](const torch::Tensor& output, const torch::Tensor& target) {
      return function(output, target, options);
    };
  };
  if (options.kind == "single-label") return bound(&single_label);
  if (options.kind == "multi-label") return bound(&multi_label);
  if (options.kind == "reconstruction") return bound(&reconstruction);
  throw Error::bad_input("unknown loss '{}'; choose one of {}", options.kind, join(loss_names(), ", "));
}

}  // namespace ronde::models
