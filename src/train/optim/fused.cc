#include "ronde/train/optim/fused.h"

#include <utility>

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_sub.h>

#include "ronde/base/error.h"
#include "ronde/train/optim/fused_kernels.h"

namespace ronde::train {
namespace {

using torch::Tensor;

template <class State>
constexpr bool kCounts = requires(State& state) { state.step(); };

}  // namespace

template <class Plain>
Tensor FusedOptimizer<Plain>::step(torch::optim::Optimizer::LossClosure closure) {
  using Kernel = FusedKernel<Plain>;
  const torch::NoGradGuard no_grad;
  Tensor loss;
  if (closure) {
    const torch::AutoGradMode with_grad(true);
    loss = closure();
  }
  taken_.clear();
  if (!fused_kernels_take(this->param_groups())) {
    if (scaling_.grad_scale || scaling_.found_inf)
      throw Error::bad_input(
          "a gradient is sparse, or a parameter has a type or layout without a fused kernel, so the optimizer cannot "
          "undo the loss scale: set optimizer.fused to off");
    Plain::step();  // its counts are noticed by FusedMemory
    prepared_ = counted_ = false;
    return loss;
  }
  if (!prepared_) prepare_step();
  for (std::size_t group = 0; group < this->param_groups().size(); ++group) {
    const auto& options = static_cast<const typename Kernel::Options&>(this->param_groups()[group].options());
    for (const FusedBatch& batch : batches(group)) {
      if (!batch.counts.empty()) at::_foreach_add_(batch.counts, 1);
      const Tensor rate = memory_.rate(group, batch.parameters.front().device(), options.lr());
      Kernel::launch(batch, options, rate, scaling_);
      if (!batch.counts.empty() && scaling_.found_inf)
        at::_foreach_sub_(batch.counts, std::vector<Tensor>(batch.counts.size(), scaling_.found_inf->reshape({})));
    }
  }
  count(1);
  prepared_ = false;
  counted_ = true;
  return loss;
}

// In the order of the group, so that every rank and every step launches the same.
template <class Plain>
std::vector<FusedBatch> FusedOptimizer<Plain>::batches(std::size_t group) {
  using Kernel = FusedKernel<Plain>;
  using State = typename Kernel::State;
  const auto& options = static_cast<const typename Kernel::Options&>(this->param_groups()[group].options());
  std::vector<FusedBatch> all;
  for (const Tensor& parameter : this->param_groups()[group].params()) {
    if (!parameter.grad().defined()) continue;
    std::vector<Tensor> tensors;
    Tensor count;
    bool first = false;
    if (Kernel::keeps_state(options)) {
      auto& kept = this->state()[parameter.unsafeGetTensorImpl()];
      if (!kept) kept = std::make_unique<State>();
      auto& state = static_cast<State&>(*kept);
      first = Kernel::is_first(state, options);
      tensors = Kernel::tensors(state, options, parameter);
      if constexpr (kCounts<State>) count = memory_.count(parameter, tensors.front(), state.step());
    }
    FusedBatch& batch = batch_of(all, parameter, first);
    batch.parameters.push_back(parameter);
    batch.gradients.push_back(laid_out_as(parameter, parameter.grad()));
    for (std::size_t i = 0; i < tensors.size(); ++i) batch.state[i].push_back(tensors[i]);
    if (count.defined()) batch.counts.push_back(count);
    taken_.push_back(parameter.unsafeGetTensorImpl());
  }
  return all;
}

template <class Plain>
void FusedOptimizer<Plain>::prepare_step() {
  using Kernel = FusedKernel<Plain>;
  const torch::NoGradGuard no_grad;
  for (std::size_t group = 0; group < this->param_groups().size(); ++group) {
    const auto& options = static_cast<const typename Kernel::Options&>(this->param_groups()[group].options());
    for (const Tensor& parameter : this->param_groups()[group].params()) {
      memory_.set_rate(group, parameter.device(), options.lr());
      if constexpr (kCounts<typename Kernel::State>) {  // here, so that a captured step has none to write
        const auto at = this->state().find(parameter.unsafeGetTensorImpl());
        if (at == this->state().end()) continue;
        auto& state = static_cast<typename Kernel::State&>(*at->second);
        memory_.count(parameter, Kernel::tensors(state, options, parameter).front(), state.step());
      }
    }
  }
  prepared_ = true;
  counted_ = false;
}

template <class Plain>
void FusedOptimizer<Plain>::replayed() {
  count(1);
  prepared_ = false;
}

template <class Plain>
void FusedOptimizer<Plain>::captured() {
  if (std::exchange(counted_, false)) count(-1);
}

template <class Plain>
void FusedOptimizer<Plain>::count([[maybe_unused]] std::int64_t steps) {
  using State = typename FusedKernel<Plain>::State;
  if constexpr (kCounts<State>) {
    for (void* key : taken_) {
      const auto at = this->state().find(key);
      if (at == this->state().end()) continue;
      auto& state = static_cast<State&>(*at->second);
      state.step(state.step() + steps);
      memory_.counted(key, steps);
    }
  }
}

template <class Plain>
void FusedOptimizer<Plain>::set_scaling(std::optional<Tensor> grad_scale, std::optional<Tensor> found_inf) {
  settle();  // what was skipped by the one before
  scaling_ = {.grad_scale = std::move(grad_scale), .found_inf = std::move(found_inf)};
}

template <class Plain>
void FusedOptimizer<Plain>::settle() const {
  using State = typename FusedKernel<Plain>::State;
  if constexpr (kCounts<State>) {
    if (!scaling_.found_inf) return;
    for (const auto& [key, kept] : this->state()) {
      auto& state = static_cast<State&>(*kept);
      state.step(memory_.read_count(key, FusedKernel<Plain>::mark(state), state.step()));
    }
  }
}

template <class Plain>
void FusedOptimizer<Plain>::save(torch::serialize::OutputArchive& archive) const {
  settle();
  Plain::save(archive);
}

template class FusedOptimizer<torch::optim::SGD>;
template class FusedOptimizer<torch::optim::Adam>;
template class FusedOptimizer<torch::optim::AdamW>;
template class FusedOptimizer<torch::optim::Adagrad>;

}  // namespace ronde::train
