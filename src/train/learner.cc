#include "ronde/train/learner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "ronde/base/clock.h"
#include "ronde/base/error.h"
#include "ronde/data/random.h"
#include "ronde/parallel/collectives.h"
#include "ronde/parallel/tensor_buffer.h"
#include "ronde/trace/span.h"
#include "ronde/train/exchange.h"
#include "ronde/train/finite.h"
#include "ronde/train/lars.h"
#include "ronde/train/local_sgd.h"
#include "ronde/train/mixup.h"
#include "ronde/train/optimizers.h"

namespace ronde::train {
namespace {

constexpr const char* kScalerKey = "loss_scale";

data::BatchPlan plan_of(const Settings& settings, const Task& task) {
  const std::int64_t samples = task.samples->size();
  return {.samples = samples, .batch = std::min(settings.get<"train.batch">(), samples), .keep_short = false};
}

}  // namespace

Learner::Learner(const Session& session, Task& task)
    : session_(session),
      task_(task),
      plan_(plan_of(session.settings(), task)),
      mixup_(mixup_of(session.settings(), task.target(), plan_.batch, session.size())),
      schedule_(schedule_of(session.settings(), plan_.batches())),
      passes_(static_cast<int>(session.settings().get<"train.accumulate">())),
      sync_every_(checked_sync_every(session.settings())),
      noise_every_(noise_interval(session.settings(), session.size())),
      clip_norm_(session.settings().get<"train.clip_norm">()),
      seed_(static_cast<std::uint64_t>(session.settings().get<"train.seed">())),
      precision_(parse_precision(session.settings().get<"train.precision">())),
      optimizer_(make_optimizer(session.settings(), task.network->parameters())) {
  const Settings& settings = session.settings();
  load_first_weights(session, task);
  broadcast_parameters(*task.network, session.world());
  require_norms(*optimizer_, *task.network);
  if (settings.get<"memory.arena">() && session.local_size() > 1)
    gradient_memory_.emplace(session.engine(),
                             parallel::GradientMemoryOptions{.sizes = parallel::sizes_of(task.network->parameters())});
  distributed_.emplace(*optimizer_, parallel::named(*task.network), session.world(),
                       DistributedOptions{.op = reduce_op_of(settings.get<"train.reduce">()),
                                          .compression = compression_of(settings.get<"train.compression">()),
                                          .accumulate = passes_,
                                          .overlap = settings.get<"train.overlap">(),
                                          .local = sync_every_ > 1});
  if (precision_ == Precision::F16) scaling_.emplace(session, *task.network);
  const models::ModuleTraceOptions traced{.modules = settings.get<"trace.modules">(),
                                          .operators = settings.get<"trace.operators">()};
  if (session.recorder() && (traced.modules || traced.operators))
    modules_.emplace(*task.network, *session.recorder(), traced);
}

Totals Learner::step(std::int64_t number, const data::Batch& batch) {
  const double waited = distributed_->seconds_waited();
  learning_rate_ = learning_rate_at(batch);
  set_learning_rate(*optimizer_, learning_rate_);
  // Whatever is random inside the network depends on nothing that went before.
  torch::manual_seed(
      data::Random(seed_, static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(session_.rank())).at(0));
  distributed_->zero_grad();
  const bool measured = noise_every_ > 0 && number % noise_every_ == 0;
  distributed_->measure_gradients(measured);
  if (scaling_) scaling_->begin_step();
  Totals totals;
  for (int i = 0; i < passes_; ++i) pass(number, batch, data::share({0, batch.size()}, i, passes_), totals);
  if (measured) totals.noise = measured_noise(batch);
  if (!scaling_ || unscale(number)) {
    if (clip_norm_ > 0) distributed_->clip_grad_norm(clip_norm_);
    distributed_->step();
  }
  totals.comm_wait = distributed_->seconds_waited() - waited;
  if (sync_every_ == 1) return totals;
  apart_ = true;
  if (number % sync_every_ == 0) {
    const auto begin = monotonic_now();
    come_together();
    totals.comm_wait += std::chrono::duration<double>(monotonic_now() - begin).count();
  }
  return totals;
}

void Learner::come_together() {
  if (std::exchange(apart_, false)) average_training(*task_.network, *optimizer_, session_.world());
}

// By the batches that an epoch really has: its rest, which is dropped, is no part of it. A whole number, unless the
// batch was another one before a break.
double Learner::learning_rate_at(const data::Batch& batch) const {
  const auto& facts = batch.facts();
  return schedule_.at(static_cast<double>(facts.epoch * plan_.batches()) +
                      static_cast<double>(facts.global.begin) / static_cast<double>(plan_.batch));
}

NoiseSums Learner::measured_noise(const data::Batch& batch) {
  const parallel::GradientNorms norms = distributed_->gradient_norms();
  const std::int64_t samples = session_.size() > 1 ? batch.size() : data::share({0, batch.size()}, 0, passes_).size();
  const double scale = scaling_ ? scaling_->scaler().scale : 1;  // of the loss, and so of gradients
  return noise_sums(norms.local / (scale * scale), norms.reduced / (scale * scale), static_cast<double>(samples),
                    session_.size() / static_cast<double>(batch.global_size()));
}

// False: this step is skipped, on all ranks.
bool Learner::unscale(std::int64_t number) {
  distributed_->synchronize();
  if (scaling_->unscale(number)) return true;
  distributed_->zero_grad();
  return false;
}

std::map<std::string, std::string> Learner::extra() const {
  std::map<std::string, std::string> extra;
  if (scaling_) extra[kScalerKey] = to_text(scaling_->scaler());
  return extra;
}

void Learner::restore(const std::map<std::string, std::string>& extra) {
  if (const auto found = extra.find(kScalerKey); scaling_ && found != extra.end())
    scaling_->go_on_from(parse_scaler(found->second, scaling_->scaler()));
}

// Losses are sums, divided by the size of the whole batch: shares of different sizes then count as they should. The
// optimizer averages over ranks, hence their number. A share may be empty, and its rank still takes part.
void Learner::pass(std::int64_t number, const data::Batch& batch, data::Range part, Totals& totals) {
  const Samples samples = samples_of(batch, part, task_, session_.device());
  const bool mixes = mixup_ > 0 && part.size() > 0;
  const Samples seen = mixes ? mixed(samples, mixup_, seed_, batch.facts().epoch,
                                     batch.facts().local.begin + part.begin, batch.facts().kind.classes)
                             : samples;
  torch::Tensor output, loss;
  using models::ModuleTrace;
  ModuleTrace* const modules = modules_ ? &*modules_ : nullptr;
  {
    RONDE_SPAN("forward");
    const ModuleTrace::Pass traced(modules, ModuleTrace::Direction::Forward);
    output = forward_in(precision_, *task_.network, seen.inputs);
    loss = task_.loss(output, seen.targets);
  }
  if (part.size() > 0) {
    torch::NoGradGuard no_grad;
    const double sum = (task_.smoothed || mixes ? task_.plain_loss(output, samples.targets) : loss).item<double>();
    const bool finite = std::isfinite(sum);
    if (!finite && !scaling_) give_up(number, samples, output);
    if (!finite) scaling_->overflowed();  // the score of these samples is lost with the step
    if (finite)
      totals.score +=
          score_of(batch.facts().kind.target, output.detach(), samples.targets, sum / static_cast<double>(part.size()));
  }
  RONDE_SPAN("backward");
  const ModuleTrace::Pass traced(modules, ModuleTrace::Direction::Backward);
  const parallel::GradientScope scope(gradient_memory_ ? &*gradient_memory_ : nullptr);
  const double scale = scaling_ ? scaling_->factor() : 1.0;
  (loss * (scale * session_.size() / static_cast<double>(batch.global_size()))).backward();
}

void Learner::give_up(std::int64_t number, const Samples& samples, const torch::Tensor& output) const {
  std::string first = "the loss";
  if (!all_finite(output)) first = "the network's output";
  if (const auto found = first_not_finite(*task_.network)) first = *found;
  if (!all_finite(samples.inputs)) first = "the input";
  throw Error(
      Error::Kind::System,
      fmt::format("the loss is not a finite number in step {} on rank {}: the first tensor that is not finite is {}; "
                  "a smaller optimizer.lr, a warm-up (schedule.warmup) or train.clip_norm may help",
                  number, session_.rank(), first));
}

}  // namespace ronde::train
