#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>

#include <torch/torch.h>

#include "ronde/base/log.h"
#include "ronde/comm/group.h"
#include "ronde/train/gpu/graph_rules.h"
#include "ronde/train/gpu/step_graph.h"
#include "ronde/train/loop/step_batch.h"

namespace ronde::train {

// Steps that are alike, as one launch each. The first few run as they are, which lets libraries choose their algorithms
// and optimizers make their state; the last of these as one that is recorded, so that NCCL connects what it connects
// late. Then one is recorded, and from then on launched with the batch copied into place. Batches of another shape run
// as they are. Each kind of steps has a recording of its own (see next_action()); they share their memory.
//
// Ranks agree on it: where one cannot record, none does. REQUIRES: all ranks run steps of the same kinds.
class GraphedStep {
 public:
  GraphedStep(comm::Group group, Log log, bool insists) : group_(std::move(group)), log_(log), insists_(insists) {}

  // A step that returns a tensor of numbers, which keeps its place.
  using Work = std::function<torch::Tensor(const StepBatch&)>;
  struct Hooks {
    std::function<void()> prepare;   // before every step: writes what the host decides to where the step reads it
    std::function<void()> recorded;  // a step was recorded, or failed to be: it has not run
    std::function<void()> launched;  // one was launched: the host's counts follow
    // Steps begin, or cease, to exchange gradients in the way that can be recorded; why they cannot, which is asked
    // once before; and that they never will.
    std::function<void(bool)> fix_exchange;
    std::function<std::string()> why_not_fixed;
    std::function<void()> given_up;
  };
  // FAILS WITH: what the work fails with; System when it insists and a step cannot be recorded.
  torch::Tensor run(const StepBatch& batch, StepKind kind, const Work& work, const Hooks& hooks);

 private:
  struct Recording {
    KindState state;
    StepGraph graph;
    torch::Tensor result;  // where launched steps leave their numbers
  };
  torch::Tensor warm_up(const StepBatch& batch, const Work& work, const Hooks& hooks);
  void record(StepKind kind, const StepBatch& batch, const Work& work, const Hooks& hooks);
  torch::Tensor launch(Recording& mine, const StepBatch& batch, const Hooks& hooks);
  // Why some rank cannot; empty: none has anything against it. FAILS WITH: System, when it insists.
  std::string objection_of_ranks(const std::string& failure) const;
  void give_up(const std::string& why, const Hooks& hooks);
  void copy_in(const StepBatch& batch);
  bool fits(const StepBatch& batch) const;
  bool any_recorded() const;
  Recording& recording(StepKind kind) { return recordings_[static_cast<std::size_t>(kind)]; }

  const comm::Group group_;
  const Log log_;
  const bool insists_;
  bool exchange_can_be_fixed_ = false;  // on all ranks: they have been asked
  bool given_up_ = false;
  StepBatch place_;  // where recorded steps find their batch
  std::array<Recording, kStepKinds> recordings_;
};

}  // namespace ronde::train
