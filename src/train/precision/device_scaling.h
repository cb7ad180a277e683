#pragma once

#include <torch/torch.h>

#include "ronde/train/optim/buffer_snapshot.h"
#include "ronde/train/precision/loss_scaler.h"

namespace ronde::train {

// Training in f16 with scaled losses, as LossScaling, but decided where the gradients are: nobody waits for an answer.
// For optimizers that skip a step when a tensor says so. The host hears of overflows later and counts them then, by the
// same rules, so both have the same scale.
//
// Ranks need not ask each other: an overflow on one is one in the reduced gradients of all.
class DeviceScaling {
 public:
  DeviceScaling(const torch::nn::Module& network, const LossScaler& scaler);

  void begin_step() { buffers_.keep(network_); }
  // What the loss is to be multiplied by; no number, where the loss is not finite: its gradients might be.
  torch::Tensor factor(const torch::Tensor& loss) const;
  // Divides the gradients by the scale. Returns f32 [1]: 1 where some have overflowed. Then the step is to be skipped,
  // and buffers are as they were before it.
  const torch::Tensor& unscale();
  const torch::Tensor& scale() const { return scale_; }
  const torch::Tensor& overflow() const { return overflow_; }  // what unscale() returns; keeps its place
  // The scale and what it has been good for, as the device has it now; the rest as `counted`. Waits for the device.
  LossScaler now(LossScaler counted) const;
  // Goes on from what a checkpoint has.
  void set(const LossScaler& scaler);

 private:
  const torch::nn::Module& network_;
  bool dynamic_ = true;
  torch::Tensor scale_, good_, overflow_;
  BufferSnapshot buffers_;
};

}  // namespace ronde::train
