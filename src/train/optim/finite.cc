#include "ronde/train/optim/finite.h"

#include "ronde/base/text/format.h"

namespace ronde::train {

bool all_finite(const torch::Tensor& tensor) {
  return !tensor.is_floating_point() || torch::isfinite(tensor.detach()).all().item<bool>();
}

std::optional<std::string> first_not_finite(const torch::nn::Module& module, bool gradients) {
  for (const auto& item : module.named_parameters())
    if (!all_finite(item.value())) return fmt::format("parameter '{}'", item.key());
  for (const auto& item : module.named_buffers())
    if (item.value().defined() && !all_finite(item.value())) return fmt::format("buffer '{}'", item.key());
  if (!gradients) return {};
  for (const auto& item : module.named_parameters())
    if (const auto& gradient = item.value().grad(); gradient.defined() && !all_finite(gradient))
      return fmt::format("the gradient of '{}'", item.key());
  return {};
}

}  // namespace ronde::train
