#include "ronde/parallel/detail/gradient_norm.h"

namespace ronde::parallel::detail {
namespace {

// The values in the order of memory, whatever the layout; a copy only where there are gaps.
torch::Tensor flat(const torch::Tensor& tensor) {
  if (tensor.is_sparse()) return tensor.coalesce().values().flatten();
  if (tensor.is_non_overlapping_and_dense()) return tensor.as_strided({tensor.numel()}, {1});
  return tensor.flatten();
}

}  // namespace

torch::Tensor squared_norm(const torch::Tensor& gradient, int part, int parts) {
  const torch::NoGradGuard no_grad;
  torch::Tensor values = flat(gradient.detach());
  const std::int64_t count = values.numel();
  values = values.slice(0, count * part / parts, count * (part + 1) / parts);
  if (values.scalar_type() == torch::kHalf || values.scalar_type() == torch::kBFloat16)
    values = values.to(torch::kFloat32);  // squares of f16 are soon too large
  return values.dot(values).to(torch::kFloat64);
}

torch::Tensor sum_of(const std::vector<torch::Tensor>& numbers) {
  return numbers.empty() ? torch::zeros({}, torch::kFloat64) : torch::stack(numbers).sum();
}

}  // namespace ronde::parallel::detail
