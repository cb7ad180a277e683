#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "ronde/data/order/batch_plan.h"
#include "ronde/models/module_trace.h"
#include "ronde/parallel/distributed_optimizer.h"
#include "ronde/parallel/gradient_scope.h"
#include "ronde/train/gpu/recorded_steps.h"
#include "ronde/train/loop/local_sgd.h"
#include "ronde/train/loop/step_batch.h"
#include "ronde/train/loop/step_numbers.h"
#include "ronde/train/loop/totals.h"
#include "ronde/train/loop/training_task.h"
#include "ronde/train/optim/weight_average.h"
#include "ronde/train/precision.h"
#include "ronde/train/precision/step_scaling.h"
#include "ronde/train/schedule.h"
#include "ronde/train/session.h"

namespace ronde::train {

// Makes the network better by one step after the other.
class Learner {
 public:
  // All ranks begin with the weights of rank 0.
  Learner(const Session& session, Task& task);

  // One step on this rank's part of a batch. A GPU may still be at it when this returns.
  // In f16 a step whose gradients overflow on any rank is skipped on all of them.
  // FAILS WITH: as Handle::wait(); on the CPU, as finished().
  void step(std::int64_t number, const StepBatch& batch);

  // What this rank has seen in the oldest step that it was not asked for yet; nothing, when at most `most_left` of them
  // are left. Waits for a GPU.
  // FAILS WITH: as check_exchange(); System when the loss is not finite, or gradients overflow many times in a row,
  // naming the step and, where it is known, the first tensor that is not.
  std::optional<Totals> finished(std::size_t most_left = 0);

  // Local SGD: brings ranks together that have trained alone since; otherwise they are. All ranks call it, after the
  // same step, before anyone looks at the weights. FAILS WITH: as Handle::wait().
  void sync_weights() { local_.sync(); }

  torch::optim::Optimizer& optimizer() { return *optimizer_; }
  double learning_rate() const { return learning_rate_; }  // of the last step
  // train.ema: the moving average of the weights; otherwise nullptr. After sync_weights() it is that of all ranks, but
  // for its buffers, which are each rank's own as the network's are.
  WeightAverage* average() { return average_ ? &*average_ : nullptr; }
  // f16: how losses are scaled; otherwise none.
  const LossScaler* scaler() const { return scaling_->scaler(); }

  // As RecordedSteps::check_exchange(): by finished(), and before weights are kept.
  void check_exchange() const { recorded_->check_exchange(); }

  // What a checkpoint needs to know besides weights and optimizer.
  std::map<std::string, std::string> extra() const;
  void restore(const std::map<std::string, std::string>& extra);

 private:
  double learning_rate_at(const data::Batch::Facts& facts) const;
  torch::Tensor one_step(std::int64_t number, const StepBatch& batch, bool measured);
  torch::Tensor pass(std::int64_t number, const StepBatch& part);
  void step_optimizer(std::int64_t number, const torch::Tensor& numbers, bool measured);
  void check_loss(std::int64_t number, double sum, const StepBatch& part, const torch::Tensor& output);

  const Session& session_;
  Task& task_;
  const data::BatchPlan plan_;
  const Schedule schedule_;
  const int passes_;
  const std::int64_t noise_every_;
  const double clip_norm_, clip_value_;
  const std::uint64_t seed_;
  const Precision precision_;
  double learning_rate_ = 0;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::optional<WeightAverage> average_;
  LocalSgd local_;
  std::optional<parallel::GradientMemory> gradient_memory_;
  std::optional<DistributedOptimizer> distributed_;
  std::optional<models::ModuleTrace> modules_;  // trace.modules, trace.operators
  std::unique_ptr<StepScaling> scaling_;
  std::optional<RecordedSteps> recorded_;
  StepNumbers numbers_;
};

}  // namespace ronde::train
