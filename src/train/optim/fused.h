#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <torch/torch.h>

#include "ronde/train/optim/fused_memory.h"

namespace ronde::train {

// What a graph of whole steps needs of an optimizer: a step() that does nothing but put kernels into the current
// stream, and that finds in device memory whatever differs from step to step (learning rates, counts of steps).
//
//   optimizer.step();  ...                                    // warm-up: makes the state of every parameter
//   fused->prepare_step();  capture { optimizer.step(); }  fused->captured();
//   each step:  fused->prepare_step();  replay;  fused->replayed();
//
// A graph holds the addresses of the state: when that is replaced (restore_state(), load()), capture again. For one
// thread; all calls in one stream.
class Fused {
 public:
  virtual ~Fused() = default;

  // Before a step, never captured: writes what the host decides into device memory, behind the steps that are queued
  // already, and waits for nothing. A step() without it calls it.
  virtual void prepare_step() = 0;
  // A graph has run the last step() once more: the host counts it.
  virtual void replayed() = 0;
  // The last step() was captured, not run, or the capture failed before or after it: the host takes its count back.
  virtual void captured() = 0;

  // f16: gradients are divided by `grad_scale`, in place; nothing is stepped and counted where `found_inf` is 1. Both
  // are one f32 number in the memory of the parameters, read by the kernels of each step.
  virtual void set_scaling(std::optional<torch::Tensor> grad_scale, std::optional<torch::Tensor> found_inf) = 0;
  // Makes the counts of steps in state() those of the device, which alone knows what was skipped. Waits for the device
  // if there is a found_inf, otherwise does nothing. save() and state_tensors() call it.
  virtual void settle() const = 0;
};

// The same optimizer as `Plain` (torch::optim::SGD, Adam, AdamW or Adagrad), in torch's fused kernels: few launches
// for all parameters. Options and state are those of Plain, so either goes on from the other's checkpoint. Parameters
// without a gradient are left alone. Where a gradient is sparse, or a parameter of a type or layout that has no kernel,
// the whole step is Plain's.
//
// A captured step must not be the first of a parameter: state is made there.
template <class Plain>
class FusedOptimizer final : public Plain, public Fused {
 public:
  using Plain::Plain;

  torch::Tensor step(torch::optim::Optimizer::LossClosure closure = nullptr) override;
  void save(torch::serialize::OutputArchive& archive) const override;

  void prepare_step() override;
  void replayed() override;
  void captured() override;
  void set_scaling(std::optional<torch::Tensor> grad_scale, std::optional<torch::Tensor> found_inf) override;
  void settle() const override;

 private:
  std::vector<FusedBatch> batches(std::size_t group);
  void count(std::int64_t steps);

  mutable FusedMemory memory_;
  FusedScaling scaling_;
  std::vector<void*> taken_;  // parameters of the last step, as keys of state()
  bool prepared_ = false;     // and not stepped since
  bool counted_ = false;      // a step(), since it was prepared
};

using FusedSgd = FusedOptimizer<torch::optim::SGD>;
using FusedAdam = FusedOptimizer<torch::optim::Adam>;
using FusedAdamW = FusedOptimizer<torch::optim::AdamW>;
// REQUIRES: has_fused_adagrad().
using FusedAdagrad = FusedOptimizer<torch::optim::Adagrad>;

extern template class FusedOptimizer<torch::optim::SGD>;
extern template class FusedOptimizer<torch::optim::Adam>;
extern template class FusedOptimizer<torch::optim::AdamW>;
extern template class FusedOptimizer<torch::optim::Adagrad>;

// Whether this torch has the kernel, with the learning rate in a tensor: older ones do not.
bool has_fused_adagrad();

// None for an optimizer that is not fused.
inline Fused* fused(torch::optim::Optimizer& optimizer) {
  return dynamic_cast<Fused*>(&optimizer);
}
inline const Fused* fused(const torch::optim::Optimizer& optimizer) {
  return dynamic_cast<const Fused*>(&optimizer);
}

}  // namespace ronde::train
