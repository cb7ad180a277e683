#include <ATen/core/dispatch/Dispatcher.h>

#include "ronde/base/error.h"
#include "ronde/train/optim/fused.h"
#include "ronde/train/optim/fused_kernels.h"

namespace ronde::train {
namespace {

using torch::Tensor;

// Looked up by its name: the headers of older torch have no such function.
std::optional<c10::OperatorHandle> find_kernel() {
  return c10::Dispatcher::singleton().findSchema({"aten::_fused_adagrad_", "tensor_lr"});
}

using Call = void(at::TensorList parameters, at::TensorList gradients, at::TensorList sums, at::TensorList counts,
                  const Tensor& rate, double rate_decay, double weight_decay, double eps, bool maximize,
                  const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf);

}  // namespace

using AdagradKernel = FusedKernel<torch::optim::Adagrad>;

bool has_fused_adagrad() {
  return find_kernel().has_value();
}

std::vector<Tensor> AdagradKernel::tensors(State& state, const Options& options, const Tensor& parameter) {
  Tensor& sum = state.sum();
  sum = sum.defined() ? laid_out_as(parameter, sum) : torch::full_like(parameter, options.initial_accumulator_value());
  return {sum};
}

void AdagradKernel::launch(const FusedBatch& batch, const Options& options, const Tensor& rate,
                           const FusedScaling& scaling) {
  static const auto kernel = find_kernel();
  if (!kernel) throw Error::bad_input("this torch has no fused kernel for adagrad: set optimizer.fused to off");
  constexpr bool kMaximize = false;  // torch::optim has no such option
  kernel->typed<Call>().call(batch.parameters, batch.gradients, batch.state[0], batch.counts, rate, options.lr_decay(),
                             options.weight_decay(), options.eps(), kMaximize, scaling.grad_scale, scaling.found_inf);
}

}  // namespace ronde::train
