#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "ronde/data/batch_plan.h"
#include "ronde/models/module_trace.h"
#include "ronde/parallel/distributed_optimizer.h"
#include "ronde/parallel/gradient_scope.h"
#include "ronde/train/loss_scaling.h"
#include "ronde/train/precision.h"
#include "ronde/train/schedule.h"
#include "ronde/train/session.h"
#include "ronde/train/task.h"
#include "ronde/train/totals.h"

namespace ronde::train {

// Makes the network better by one step after the other.
class Learner {
 public:
  // All ranks begin with the weights of rank 0.
  Learner(const Session& session, Task& task);

  // One step on this rank's part of a batch. Returns what this rank has seen.
  // In f16 a step whose gradients overflow on any rank is skipped on all of them.
  // FAILS WITH: as Handle::wait(); System when the loss is not finite, or gradients overflow many times in a row,
  // naming the step and the first tensor that is not.
  Totals step(std::int64_t number, const data::Batch& batch);

  // Local SGD: brings ranks together that have trained alone since; otherwise they are. All ranks call it, after the
  // same step, before anyone looks at the weights. FAILS WITH: as Handle::wait().
  void come_together();

  torch::optim::Optimizer& optimizer() { return *optimizer_; }
  double learning_rate() const { return learning_rate_; }  // of the last step
  // f16: how losses are scaled; otherwise none.
  const LossScaler* scaler() const { return scaling_ ? &scaling_->scaler() : nullptr; }

  // What a checkpoint needs to know besides weights and optimizer.
  std::map<std::string, std::string> extra() const;
  void restore(const std::map<std::string, std::string>& extra);

 private:
  double learning_rate_at(const data::Batch& batch) const;
  NoiseSums measured_noise(const data::Batch& batch);
  void pass(std::int64_t number, const data::Batch& batch, data::Range part, Totals& totals);
  bool unscale(std::int64_t number);
  [[noreturn]] void give_up(std::int64_t number, const Samples& samples, const torch::Tensor& output) const;

  const Session& session_;
  Task& task_;
  const data::BatchPlan plan_;
  const double mixup_;  // 0: off
  const Schedule schedule_;
  const int passes_;
  const std::int64_t sync_every_, noise_every_;
  const double clip_norm_;
  const std::uint64_t seed_;
  const Precision precision_;
  double learning_rate_ = 0;
  bool apart_ = false;  // ranks have stepped alone since they were together
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::optional<parallel::GradientMemory> gradient_memory_;
  std::optional<DistributedOptimizer> distributed_;
  std::optional<models::ModuleTrace> modules_;  // trace.modules, trace.operators
  std::optional<LossScaling> scaling_;          // f16
};

}  // namespace ronde::train
