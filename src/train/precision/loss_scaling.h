#pragma once

#include <cstdint>

#include <torch/torch.h>

#include "ronde/comm/group.h"
#include "ronde/train/optim/buffer_snapshot.h"
#include "ronde/train/precision/step_scaling.h"

namespace ronde::train {

// Training in f16 with scaled losses: the host finds overflows, undoes the scale, and leaves nothing of a step that is
// skipped.
//
// All ranks decide the same. What overflows on one rank is not finite there, and stays so in every sum or average with
// what other ranks have, so all of them find it in the reduced gradients, which are the same bits on every rank; only
// where gradients are not reduced (train.sync_every) they ask each other.
class LossScaling final : public StepScaling {
 public:
  LossScaling(const Session& session, torch::nn::Module& network);

  // Before the forward pass: remembers what that changes (running means of norms).
  void begin_step() override;
  torch::Tensor first_gradient(const torch::Tensor& loss, double share) const override;
  bool looks_at_losses() const override { return true; }
  // The loss is not finite on this rank. Its gradients might be: from now on they are not, in this step.
  bool accepts_overflow() override;
  // Where it says false, gradients are gone, and buffers are as they were.
  bool unscale(std::int64_t step, DistributedOptimizer& optimizer, const torch::Tensor& numbers,
               bool measured) override;

  const LossScaler* scaler() const override { return &scaler_; }
  std::optional<LossScaler> now() const override { return scaler_; }
  void restore(const LossScaler& scaler) override { scaler_ = scaler; }

 private:
  bool gradients_finite();

  torch::nn::Module& network_;
  const comm::Group group_;
  const bool reduced_;
  LossScaler scaler_;
  bool overflowed_ = false;
  BufferSnapshot buffers_;
};

}  // namespace ronde::train
