#pragma once

#include <cstdint>

#include <torch/torch.h>

#include "ronde/comm/group.h"
#include "ronde/train/optim/buffer_snapshot.h"
#include "ronde/train/precision/loss_scaler.h"
#include "ronde/train/session.h"

namespace ronde::train {

// Training in f16 with scaled losses: finds overflows, undoes the scale, and leaves nothing of a step that is skipped.
//
//   scaling.begin_step();
//   (loss * scaling.factor()).backward();  ...  gradients are reduced over ranks
//   if (scaling.unscale(step)) optimizer.step();
//
// All ranks decide the same. What overflows on one rank is not finite there, and stays so in every sum or average with
// what other ranks have, so all of them find it in the reduced gradients, which are the same bits on every rank; only
// where gradients are not reduced (train.sync_every) they ask each other.
class LossScaling {
 public:
  LossScaling(const Session& session, torch::nn::Module& network);

  // Before the forward pass: remembers what that changes (running means of norms).
  void begin_step();
  // The loss is not finite on this rank. Its gradients might be: from now on they are not, in this step.
  void overflowed() { overflowed_ = true; }
  double factor() const;

  // Divides the gradients by the scale. False: some rank's have overflowed, all ranks skip this step, and buffers are
  // as they were. FAILS WITH: System after many in a row, naming the step and the first gradient that overflowed.
  bool unscale(std::int64_t step);

  const LossScaler& scaler() const { return scaler_; }
  void go_on_from(const LossScaler& scaler) { scaler_ = scaler; }

 private:
  bool gradients_finite();

  torch::nn::Module& network_;
  const comm::Group group_;
  const bool reduced_;
  LossScaler scaler_;
  bool overflowed_ = false;
  BufferSnapshot buffers_;
};

// REQUIRES: scaler.hopeless(), after `step`. FAILS WITH: System, always: names the step and the first tensor that is
// not finite.
[[noreturn]] void give_up_scaling(std::int64_t step, const LossScaler& scaler, const torch::nn::Module& network);

}  // namespace ronde::train
