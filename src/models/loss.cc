#include "ronde/models/loss.h"

#include <algorithm>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::models {
namespace {

namespace F = torch::nn::functional;

void check_classes(const torch::Tensor& output, const torch::Tensor& target, bool ignores) {
  if (!target.is_cpu() || target.numel() == 0) return;  // on a GPU to look means to wait
  const auto [low, high] = torch::aminmax(ignores ? target.masked_fill(target.eq(kIgnoredClass), 0) : target);
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

// A loss with what it needs again and again.
struct Weighted {
  LossOptions options;
  torch::Tensor weights = {};  // of classes; none: all count alike

  // Where the outputs are: they are sent there once.
  const torch::Tensor& for_outputs(const torch::Tensor& output) {
    if (weights.defined() && weights.device() != output.device()) weights = weights.to(output.device());
    return weights;
  }
};

// 1 where the probability of what is right is 0, and 0 where it is 1.
torch::Tensor focused(const torch::Tensor& entropy) {
  return (1 - (-entropy).exp()).square() * entropy;
}

// A number for each sample: the mean over its pixels, but those that are ignored.
torch::Tensor by_sample(const torch::Tensor& each, const torch::Tensor& target, bool ignores) {
  if (each.dim() == 1) return each;
  const torch::Tensor sums = each.flatten(1).sum(1);
  if (!ignores) return sums / each[0].numel();
  return sums / target.ne(kIgnoredClass).flatten(1).sum(1).clamp_min(1);
}

torch::Tensor over_samples(const torch::Tensor& each, bool sum) {
  return sum ? each.sum() : each.mean();
}

torch::Tensor entropy_of(const torch::Tensor& output, const torch::Tensor& target, const torch::Tensor& weights,
                         double smoothing, F::CrossEntropyFuncOptions::reduction_t reduction) {
  auto with = F::CrossEntropyFuncOptions().reduction(reduction).label_smoothing(smoothing);
  if (weights.defined()) with.weight(weights.to(output.scalar_type()));
  return F::cross_entropy(output, target, with);  // which ignores kIgnoredClass by itself
}

// For each sample.
torch::Tensor dice_of(const torch::Tensor& output, const torch::Tensor& target, const torch::Tensor& weights,
                      bool ignores) {
  const torch::Tensor classes = target.clamp_min(0).unsqueeze(1);
  torch::Tensor found = output.softmax(1), there = torch::zeros_like(found).scatter_(1, classes, 1);
  if (ignores) {
    const torch::Tensor counted = target.ne(kIgnoredClass).unsqueeze(1);
    found = found * counted;
    there = there * counted;
  }
  const auto sums = [](const torch::Tensor& pixels) { return pixels.flatten(2).sum(2); };
  const torch::Tensor scores = (2 * sums(found * there) + 1) / (sums(found) + sums(there) + 1);
  return 1 - (weights.defined() ? (scores * weights).sum(1) / weights.sum() : scores.mean(1));
}

torch::Tensor single_label(const torch::Tensor& output, const torch::Tensor& target, Weighted& loss) {
  const LossOptions& options = loss.options;
  const torch::Tensor& weights = loss.for_outputs(output);
  if (target.is_floating_point())
    check_shape(output, target);
  else
    check_classes(output, target, options.ignores);
  const bool plain = options.form == "entropy" && !weights.defined() && !options.ignores;
  // One number a sample torch sums itself, in fewer kernels.
  if (plain && output.dim() == 2)
    return entropy_of(output, target, weights, options.label_smoothing,
                      options.sum ? F::CrossEntropyFuncOptions::reduction_t(torch::kSum)
                                  : F::CrossEntropyFuncOptions::reduction_t(torch::kMean));
  if (plain) return reduced(entropy_of(output, target, weights, options.label_smoothing, torch::kNone), options.sum);
  torch::Tensor each;
  if (options.form == "focal") {
    each = focused(entropy_of(output, target, {}, 0, torch::kNone));
    if (weights.defined()) each = each * weights.index({target.clamp_min(0)});
  } else if (options.form != "dice") {
    each = entropy_of(output, target, weights, options.label_smoothing, torch::kNone);
  }
  torch::Tensor samples;
  if (each.defined()) samples = by_sample(each, target, options.ignores);
  if (options.form.starts_with("dice")) {
    const torch::Tensor dice = dice_of(output, target, weights, options.ignores);
    samples = samples.defined() ? samples + dice : dice;
  }
  return over_samples(samples, options.sum);
}

torch::Tensor multi_label(const torch::Tensor& output, const torch::Tensor& target, Weighted& loss) {
  const LossOptions& options = loss.options;
  const torch::Tensor& weights = loss.for_outputs(output);
  check_shape(output, target);
  torch::Tensor wanted = target.to(output.dtype());
  if (options.label_smoothing > 0) wanted = wanted * (1 - options.label_smoothing) + options.label_smoothing / 2;
  torch::Tensor each = torch::binary_cross_entropy_with_logits(output, wanted, {}, {}, at::Reduction::None);
  if (options.form == "focal") each = focused(each);
  if (weights.defined()) each = each * weights;
  return reduced(each, options.sum);
}

torch::Tensor reconstruction(const torch::Tensor& output, const torch::Tensor& target, const Weighted& loss) {
  check_shape(output, target);
  return reduced(torch::mse_loss(output, target, at::Reduction::None), loss.options.sum);
}

void check_options(const LossOptions& options) {
  if (options.label_smoothing < 0 || options.label_smoothing > 1)
    throw Error::bad_input("label smoothing must be between 0 and 1, got {}", options.label_smoothing);
  if (options.form == "entropy") return;
  const auto forms = loss_forms();
  if (std::ranges::find(forms, options.form) == forms.end())
    throw Error::bad_input("unknown loss '{}'; choose one of entropy, {}", options.form, join(forms, ", "));
  if (options.label_smoothing > 0 && options.form != "dice-entropy")
    throw Error::bad_input("the loss {} has no label smoothing", options.form);
}

}  // namespace

std::vector<std::string> loss_names() {
  return {"single-label", "multi-label", "reconstruction"};
}

std::vector<std::string> loss_forms() {
  return {"focal", "dice", "dice-entropy"};
}

Loss make_loss(const LossOptions& options) {
  check_options(options);
  const auto bound = [&](auto function) {
    Weighted loss{.options = options};
    if (!options.class_weights.empty()) loss.weights = torch::tensor(options.class_weights, torch::kFloat32);
    return [loss, function](const torch::Tensor& output, const torch::Tensor& target) mutable {
      return function(output, target, loss);
    };
  };
  if (options.kind == "single-label") return bound(&single_label);
  if (options.kind == "multi-label") return bound(&multi_label);
  if (options.kind == "reconstruction") return bound(&reconstruction);
  throw Error::bad_input("unknown loss '{}'; choose one of {}", options.kind, join(loss_names(), ", "));
}

}  // namespace ronde::models
