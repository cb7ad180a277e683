#pragma once

#include <torch/torch.h>

#include "ronde/train/optim/buffer_snapshot.h"
#include "ronde/train/precision/step_scaling.h"

namespace ronde::train {

// Training in f16 with scaled losses, as LossScaling, but decided where the gradients are: nobody waits for an answer.
// For optimizers that skip a step when a tensor says so. The host hears of overflows later and counts them then, by the
// same rules, so both have the same scale.
//
// Ranks need not ask each other: an overflow on one is one in the reduced gradients of all.
class DeviceScaling final : public StepScaling {
 public:
  DeviceScaling(const torch::nn::Module& network, const LossScaler& scaler);

  void begin_step() override { buffers_.keep(network_); }
  // No number, where the loss is not finite: its gradients might be.
  torch::Tensor first_gradient(const torch::Tensor& loss, double share) const override;
  bool accepts_overflow() override { return true; }
  // Always true: the optimizer skips the step by itself, and buffers are then as they were before it.
  bool unscale(std::int64_t step, DistributedOptimizer& optimizer, const torch::Tensor& numbers,
               bool measured) override;
  void finished(std::int64_t step, bool overflow) override;
  const torch::Tensor& overflow() const { return overflow_; }  // f32 [1]: 1 where some have overflowed; stays in place

  const LossScaler* scaler() const override { return &counted_; }
  // The scale and what it has been good for, as the device has it now. Waits for the device.
  std::optional<LossScaler> now() const override;
  void restore(const LossScaler& scaler) override;

 private:
  const torch::nn::Module& network_;
  LossScaler counted_;  // what the host has heard of
  torch::Tensor scale_, good_, overflow_;
  BufferSnapshot buffers_;
};

}  // namespace ronde::train
