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
#include "ronde/train/gpu/graph_rules.h"
#include "ronde/train/gpu/graphed_step.h"
#include "ronde/train/loop/step_batch.h"
#include "ronde/train/loop/step_numbers.h"
#include "ronde/train/loop/totals.h"
#include "ronde/train/optim/fused.h"
#include "ronde/train/precision.h"
#include "ronde/train/precision/device_scaling.h"
#include "ronde/train/precision/loss_scaling.h"
#include "ronde/train/schedule.h"
#include "ronde/train/session.h"
#include "ronde/train/task.h"

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
  void sync_weights();

  torch::optim::Optimizer& optimizer() { return *optimizer_; }
  double learning_rate() const { return learning_rate_; }  // of the last step
  // f16: how losses are scaled; otherwise none.
  const LossScaler* scaler() const;

  // Weights that recorded steps have made are those of all ranks. Asked once a GPU has got so far: by finished(), and
  // before weights are kept. FAILS WITH: System when exchanges between ranks were given up.
  void check_exchange() const;

  // What a checkpoint needs to know besides weights and optimizer.
  std::map<std::string, std::string> extra() const;
  void restore(const std::map<std::string, std::string>& extra);

 private:
  double learning_rate_at(const data::Batch::Facts& facts) const;
  torch::Tensor one_step(std::int64_t number, const StepBatch& batch, bool measured);
  torch::Tensor pass(std::int64_t number, const StepBatch& part);
  bool unscale(std::int64_t number);
  void check_loss(std::int64_t number, double sum, const StepBatch& part, const torch::Tensor& output);
  void count_overflow(std::int64_t number, bool overflow);
  void start_graph();
  GraphFacts graph_facts() const;
  GraphedStep::Hooks graph_hooks();
  std::string why_no_fixed_exchange() const;
  void launched();
  comm::InStream in_stream(std::size_t number, const std::vector<torch::Tensor>& gradients) const;
  device::Event reduce_in_stream(std::size_t number, const std::vector<torch::Tensor>& gradients,
                                 const device::Event& made) const;
  void scale_on_device(const LossScaler& scaler);

  const Session& session_;
  Task& task_;
  const data::BatchPlan plan_;
  const Schedule schedule_;
  const int passes_;
  const std::int64_t sync_every_, noise_every_;
  const double clip_norm_, clip_value_;
  const std::uint64_t seed_;
  const Precision precision_;
  double learning_rate_ = 0;
  bool apart_ = false;  // ranks have stepped alone since they were together
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::optional<parallel::GradientMemory> gradient_memory_;
  std::optional<DistributedOptimizer> distributed_;
  std::optional<models::ModuleTrace> modules_;   // trace.modules, trace.operators
  std::optional<LossScaling> scaling_;           // f16, by the host
  std::optional<DeviceScaling> device_scaling_;  // f16, by optimizers that skip steps themselves,
  LossScaler counted_;                           // and what the host has heard of it
  Fused* fused_ = nullptr;                       // the optimizer, if it is one
  std::optional<comm::Group> in_graph_;          // several ranks: for what recorded steps exchange, and nothing else
  std::optional<GraphedStep> graph_;
  StepNumbers numbers_;
};

}  // namespace ronde::train
