#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <torch/torch.h>

#include "ronde/parallel/distributed_optimizer.h"
#include "ronde/train/optim/fused.h"
#include "ronde/train/precision/loss_scaler.h"
#include "ronde/train/session.h"

namespace ronde::train {

// How a step keeps its gradients within the range of their type. This one leaves them as they are; in f16 losses are
// scaled, by the host (LossScaling) or where the gradients are (DeviceScaling).
class StepScaling {
 public:
  StepScaling() = default;
  StepScaling(const StepScaling&) = delete;
  StepScaling& operator=(const StepScaling&) = delete;
  virtual ~StepScaling() = default;

  // Before the forward pass.
  virtual void begin_step() {}
  // What the backward pass of a loss begins with: `share`, times the scale.
  virtual torch::Tensor first_gradient(const torch::Tensor& loss, double share) const;
  // Whether the host looks at the loss of each pass, on a GPU too.
  virtual bool looks_at_losses() const { return false; }
  // A loss is not finite. False: that ends the training; otherwise the step is skipped.
  virtual bool accepts_overflow() { return false; }
  // Before the optimizer steps: undoes the scale of the gradients, and of the squared norms that were measured of them,
  // which are the first two of `numbers` if they were `measured`; the third becomes 1 where the device has found an
  // overflow. False: the step is skipped on all ranks. FAILS WITH: System after many overflows in a row, naming step
  // and tensor.
  virtual bool unscale(std::int64_t /*step*/, DistributedOptimizer& /*optimizer*/, const torch::Tensor& /*numbers*/,
                       bool /*measured*/) {
    return true;
  }
  // The host hears of a step: whether the device has found an overflow. FAILS WITH: as unscale().
  virtual void finished(std::int64_t /*step*/, bool /*overflow*/) {}

  // As the host knows it; none: nothing is scaled.
  virtual const LossScaler* scaler() const { return nullptr; }
  // As it is after the last step, for a checkpoint. May wait for a GPU.
  virtual std::optional<LossScaler> now() const { return {}; }
  virtual void restore(const LossScaler& /*scaler*/) {}
};

// What train.precision asks for. `fused`: the optimizer, if it can skip steps by itself; `local`: ranks step alone.
std::unique_ptr<StepScaling> make_step_scaling(const Session& session, torch::nn::Module& network, Fused* fused,
                                               bool local);

// REQUIRES: scaler.hopeless(), after `step`. FAILS WITH: System, always: names the step and the first tensor that is
// not finite.
[[noreturn]] void give_up_scaling(std::int64_t step, const LossScaler& scaler, const torch::nn::Module& network);

}  // namespace ronde::train
