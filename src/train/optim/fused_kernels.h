#pragma once

#include "ronde/train/optim/fused_memory.h"

// What differs between the optimizers that have a fused kernel.
namespace ronde::train {

template <class Plain>
struct FusedKernel;

// For each:
//   keeps_state   whether an optimizer with these options has a state at all
//   is_first      whether this parameter's step is one with FusedBatch::first
//   tensors       the state as the kernel takes it; what is missing is made, what lies otherwise in memory is put right
//   mark          the first of these, to know the state again (those with counts)
//   launch        one step of a batch whose counts are those of this step already
template <>
struct FusedKernel<torch::optim::SGD> {
  using Options = torch::optim::SGDOptions;
  using State = torch::optim::SGDParamState;
  static bool keeps_state(const Options& options) { return options.momentum() != 0; }
  static bool is_first(const State& state, const Options& options);
  static std::vector<torch::Tensor> tensors(State& state, const Options& options, const torch::Tensor& parameter);
  static void launch(const FusedBatch& batch, const Options& options, const torch::Tensor& rate,
                     const FusedScaling& scaling);
};

template <class Opts, class ParamState>
struct FusedKernelOfAdam {
  using Options = Opts;
  using State = ParamState;
  static bool keeps_state(const Options&) { return true; }
  static bool is_first(const State&, const Options&) { return false; }
  static const torch::Tensor& mark(const State& state) { return state.exp_avg(); }
  static std::vector<torch::Tensor> tensors(State& state, const Options& options, const torch::Tensor& parameter);
  static void launch(const FusedBatch& batch, const Options& options, const torch::Tensor& rate,
                     const FusedScaling& scaling);
};
template <>
struct FusedKernel<torch::optim::Adam> : FusedKernelOfAdam<torch::optim::AdamOptions, torch::optim::AdamParamState> {};
template <>
struct FusedKernel<torch::optim::AdamW> : FusedKernelOfAdam<torch::optim::AdamWOptions, torch::optim::AdamWParamState> {
};

extern template struct FusedKernelOfAdam<torch::optim::AdamOptions, torch::optim::AdamParamState>;
extern template struct FusedKernelOfAdam<torch::optim::AdamWOptions, torch::optim::AdamWParamState>;

template <>
struct FusedKernel<torch::optim::Adagrad> {
  using Options = torch::optim::AdagradOptions;
  using State = torch::optim::AdagradParamState;
  static bool keeps_state(const Options&) { return true; }
  static bool is_first(const State&, const Options&) { return false; }
  static const torch::Tensor& mark(const State& state) { return state.sum(); }
  static std::vector<torch::Tensor> tensors(State& state, const Options& options, const torch::Tensor& parameter);
  static void launch(const FusedBatch& batch, const Options& options, const torch::Tensor& rate,
                     const FusedScaling& scaling);
};

}  // namespace ronde::train
