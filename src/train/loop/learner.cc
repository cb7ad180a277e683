#include "ronde/train/loop/learner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/order/random.h"
#include "ronde/parallel/collectives.h"
#include "ronde/parallel/tensor_buffer.h"
#include "ronde/trace/span.h"
#include "ronde/trace/span_names.h"
#include "ronde/train/loop/exchange.h"
#include "ronde/train/optim/finite.h"
#include "ronde/train/optim/lars.h"
#include "ronde/train/optimizers.h"

namespace ronde::train {
namespace {

constexpr const char* kScalerKey = "loss_scale";

data::BatchPlan plan_of(const TrainingOptions& options, const Task& task) {
  const std::int64_t samples = task.samples->size();
  return {.samples = samples, .batch = std::min(options.batch, samples), .keep_short = false};
}

torch::Tensor clipped_sparse(const torch::Tensor& gradient, double most) {
  const torch::Tensor whole = gradient.coalesce();  // the same place may come several times
  return torch::sparse_coo_tensor(whole.indices(), whole.values().clamp(-most, most), whole.sizes());
}

// Of the mean over ranks: values that each of them had clipped would add up to another.
void clip_values(DistributedOptimizer& optimizer, const std::vector<torch::Tensor>& parameters, double most) {
  optimizer.synchronize();
  const torch::NoGradGuard no_grad;
  for (const torch::Tensor& parameter : parameters)
    if (parameter.grad().is_sparse())
      parameter.mutable_grad() = clipped_sparse(parameter.grad(), most);
    else if (parameter.grad().defined())
      parameter.mutable_grad().clamp_(-most, most);
}

std::optional<WeightAverage> average_of(const Session& session, Task& task) {
  const double decay = session.options().ema;
  if (decay == 0) return {};
  return std::optional<WeightAverage>(std::in_place, *task.network, decay);
}

}  // namespace

Learner::Learner(const Session& session, Task& task)
    : session_(session),
      task_(task),
      plan_(plan_of(session.options(), task)),
      schedule_(schedule_of(session.options(), plan_.batches())),
      passes_(static_cast<int>(session.options().accumulate)),
      noise_every_(noise_interval(session.options(), session.size())),
      clip_norm_(session.options().clip_norm),
      clip_value_(session.options().clip_value),
      seed_(session.options().seed),
      precision_(parse_precision(session.options().precision)),
      optimizer_(make_optimizer(session.options().optimizer, task.trained(), session.registry().optimizers)),
      average_(average_of(session, task)),
      local_(*task.network, *optimizer_, session.world(), checked_sync_every(session.options()),
             session.registry().optimizers, average()),
      numbers_(session.device()) {
  const TrainingOptions& options = session.options();
  load_first_weights(session, task);
  broadcast_parameters(*task.network, session.world());
  if (average_) average_->restart();
  require_norms(*optimizer_, *task.network);
  if (options.arena && session.local_size() > 1)
    gradient_memory_.emplace(session.engine(),
                             parallel::GradientMemoryOptions{.sizes = parallel::sizes_of(task.network->parameters())});
  distributed_.emplace(*optimizer_, parallel::named(*task.network), session.world(),
                       DistributedOptions{.op = reduce_op_of(options.reduce),
                                          .compression = compression_of(options.compression),
                                          .accumulate = passes_,
                                          .overlap = options.overlap,
                                          .local = local_.on()});
  Fused* const fused_optimizer = fused(*optimizer_);
  scaling_ = make_step_scaling(session, *task.network, fused_optimizer, local_.on());
  const models::ModuleTraceOptions traced{.modules = options.trace.modules, .operators = options.trace.operators};
  if (session.recorder() && (traced.modules || traced.operators))
    modules_.emplace(*task.network, *session.recorder(), traced);
  recorded_.emplace(
      session, *distributed_, fused_optimizer,
      GraphFacts{
          .f16_on_host = scaling_->looks_at_losses(), .local = local_.on(), .traced_modules = modules_.has_value()});
}

void Learner::step(std::int64_t number, const StepBatch& batch) {
  const double waited = distributed_->seconds_waited();
  learning_rate_ = learning_rate_at(batch.facts);
  set_learning_rate(*optimizer_, learning_rate_);
  // Whatever is random inside the network depends on nothing that went before.
  torch::manual_seed(
      data::Random(seed_, static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(session_.rank())).at(0));
  if (average_) average_->begin_step(number);
  const bool measured = noise_every_ > 0 && number % noise_every_ == 0;
  const auto work = [&](const StepBatch& seen) { return one_step(number, seen, measured); };
  const StepKind kind = measured ? StepKind::Measured : StepKind::Ordinary;
  const torch::Tensor values = recorded_->run(batch, kind, work);
  StepFacts facts{.step = number, .samples = batch.size(), .learning_rate = learning_rate_};
  if (measured) {
    const std::int64_t some = session_.size() > 1 ? batch.size() : data::share({0, batch.size()}, 0, passes_).size();
    facts.noise_samples = static_cast<double>(some);
    facts.noise_weight = session_.size() / static_cast<double>(batch.global_size());
  }
  facts.comm_wait = distributed_->seconds_waited() - waited + local_.stepped(number);
  numbers_.send(facts, values);
}

// All of a step that happens on the device; a GPU is at it for much longer than this takes. Returns StepValues.
torch::Tensor Learner::one_step(std::int64_t number, const StepBatch& batch, bool measured) {
  distributed_->zero_grad();
  distributed_->measure_gradients(measured);
  scaling_->begin_step();
  torch::Tensor score;
  for (int i = 0; i < passes_; ++i) {
    const torch::Tensor some = pass(number, batch.part(data::share({0, batch.size()}, i, passes_)));
    score = score.defined() ? score + some : some;
  }
  const torch::Tensor rest = score.slice(0, kScoreValues);
  if (measured) rest.slice(0, 0, 2).copy_(distributed_->gradient_norm_values());
  step_optimizer(number, rest, measured);
  // A step that f16 skips counts: only the device may know that it was skipped.
  if (average_) average_->add();
  return score;
}

void Learner::step_optimizer(std::int64_t number, const torch::Tensor& numbers, bool measured) {
  if (!scaling_->unscale(number, *distributed_, numbers, measured)) return;
  if (clip_value_ > 0) clip_values(*distributed_, task_.trained(), clip_value_);
  if (clip_norm_ > 0) distributed_->clip_grad_norm_on_device(clip_norm_);
  distributed_->step();
}

std::optional<Totals> Learner::finished(std::size_t most_left) {
  const auto read = numbers_.read(most_left);
  if (!read) return {};
  check_exchange();
  const auto& [facts, values] = *read;
  Totals totals{.step = facts.step, .learning_rate = facts.learning_rate};
  totals.comm_wait = facts.comm_wait;
  scaling_->finished(facts.step, values[kScoreValues + 2] != 0);
  if (!std::isfinite(values[0]) && !scaling_->scaler())
    throw Error(Error::Kind::System,
                fmt::format("the loss is not finite in step {} on rank {} (detected one step later on a GPU); a "
                            "smaller optimizer.lr, a warm-up (schedule.warmup) or train.clip_norm may help",
                            facts.step, session_.rank()));
  if (std::isfinite(values[0])) totals.score = score_from_values(values.data(), facts.samples);
  if (facts.noise_samples > 0)
    totals.noise = noise_sums(values[kScoreValues], values[kScoreValues + 1], facts.noise_samples, facts.noise_weight);
  return totals;
}

// By the batches that an epoch really has: its rest, which is dropped, is no part of it. A whole number, unless the
// batch was another one before a break.
double Learner::learning_rate_at(const data::Batch::Facts& facts) const {
  return schedule_.at(static_cast<double>(facts.epoch * plan_.batches()) +
                      static_cast<double>(facts.global.begin) / static_cast<double>(plan_.batch));
}

std::map<std::string, std::string> Learner::extra() const {
  std::map<std::string, std::string> extra;
  if (const auto scaler = scaling_->now()) extra[kScalerKey] = to_text(*scaler);
  return extra;
}

void Learner::restore(const std::map<std::string, std::string>& extra) {
  const auto found = extra.find(kScalerKey);
  if (scaler() && found != extra.end()) scaling_->restore(parse_scaler(found->second, *scaler()));
}

// Losses are sums, divided by the size of the whole batch: shares of different sizes then count as they should. The
// optimizer averages over ranks, hence their number. A share may be empty, and its rank still takes part.
torch::Tensor Learner::pass(std::int64_t number, const StepBatch& part) {
  torch::Tensor output, loss;
  using models::ModuleTrace;
  ModuleTrace* const modules = modules_ ? &*modules_ : nullptr;
  {
    RONDE_SPAN(trace::span_names::kForward);
    const ModuleTrace::Pass traced(modules, ModuleTrace::Direction::Forward);
    output = forward_in(precision_, *task_.network, part.inputs);
    loss = task_.loss(output, part.targets);
  }
  torch::Tensor score;
  {
    const torch::NoGradGuard no_grad;
    if (part.size() > 0)
      score = score_values(part.facts.kind.target, output.detach(), part.plain,
                           task_.smoothed || part.mixed() ? task_.plain_loss(output, part.plain) : loss, kStepValues);
    else
      score = torch::zeros({kStepValues}, output.options().dtype(torch::kFloat64));
    // On the CPU it costs nothing to look at once.
    if (part.size() > 0 && (score.is_cpu() || scaling_->looks_at_losses()))
      check_loss(number, score[0].item<double>(), part, output);
  }
  RONDE_SPAN(trace::span_names::kBackward);
  const ModuleTrace::Pass traced(modules, ModuleTrace::Direction::Backward);
  const parallel::GradientScope scope(gradient_memory_ ? &*gradient_memory_ : nullptr);
  const double share = session_.size() / static_cast<double>(part.global_size());
  loss.backward(scaling_->first_gradient(loss, share));
  return score;
}

void Learner::check_loss(std::int64_t number, double sum, const StepBatch& part, const torch::Tensor& output) {
  if (std::isfinite(sum) || scaling_->accepts_overflow()) return;
  std::string first = "the loss";
  if (!all_finite(output)) first = "the network's output";
  if (const auto found = first_not_finite(*task_.network)) first = *found;
  if (!all_finite(part.inputs)) first = "the input";
  throw Error(Error::Kind::System,
              fmt::format("the loss is not finite in step {} on rank {}: the first tensor that is not finite is {}; a "
                          "smaller optimizer.lr, a warm-up (schedule.warmup) or train.clip_norm may help",
                          number, session_.rank(), first));
}

}  // namespace ronde::train
