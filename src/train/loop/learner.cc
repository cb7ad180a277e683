#include "ronde/train/loop/learner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/system/clock.h"
#include "ronde/data/order/random.h"
#include "ronde/parallel/collectives.h"
#include "ronde/parallel/tensor_buffer.h"
#include "ronde/trace/span.h"
#include "ronde/trace/span_names.h"
#include "ronde/train/loop/exchange.h"
#include "ronde/train/loop/local_sgd.h"
#include "ronde/train/optim/finite.h"
#include "ronde/train/optim/lars.h"
#include "ronde/train/optimizers.h"

namespace ronde::train {
namespace {

constexpr const char* kScalerKey = "loss_scale";

data::BatchPlan plan_of(const Settings& settings, const Task& task) {
  const std::int64_t samples = task.samples->size();
  return {.samples = samples, .batch = std::min(settings.get<"train.batch">(), samples), .keep_short = false};
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

}  // namespace

Learner::Learner(const Session& session, Task& task)
    : session_(session),
      task_(task),
      plan_(plan_of(session.settings(), task)),
      schedule_(schedule_of(session.settings(), plan_.batches())),
      passes_(static_cast<int>(session.settings().get<"train.accumulate">())),
      sync_every_(checked_sync_every(session.settings())),
      noise_every_(noise_interval(session.settings(), session.size())),
      clip_norm_(session.settings().get<"train.clip_norm">()),
      clip_value_(session.settings().get<"train.clip_value">()),
      seed_(static_cast<std::uint64_t>(session.settings().get<"train.seed">())),
      precision_(parse_precision(session.settings().get<"train.precision">())),
      optimizer_(make_optimizer(session.settings(), task.trained(), session.registry().optimizers)),
      fused_(fused(*optimizer_)),
      numbers_(session.device()) {
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
  if (precision_ == Precision::F16) {
    if (fused_ && (sync_every_ == 1 || session.size() == 1))
      scale_on_device(scaler_of(settings.get<"train.loss_scale">()));
    else
      scaling_.emplace(session, *task.network);
  }
  const models::ModuleTraceOptions traced{.modules = settings.get<"trace.modules">(),
                                          .operators = settings.get<"trace.operators">()};
  if (session.recorder() && (traced.modules || traced.operators))
    modules_.emplace(*task.network, *session.recorder(), traced);
  start_graph();
}

void Learner::scale_on_device(const LossScaler& scaler) {
  counted_ = scaler;
  device_scaling_.emplace(*task_.network, scaler);
  fused_->set_scaling({}, device_scaling_->overflow());
}

const LossScaler* Learner::scaler() const {
  if (device_scaling_) return &counted_;
  return scaling_ ? &scaling_->scaler() : nullptr;
}

void Learner::step(std::int64_t number, const StepBatch& batch) {
  const double waited = distributed_->seconds_waited();
  learning_rate_ = learning_rate_at(batch.facts);
  set_learning_rate(*optimizer_, learning_rate_);
  // Whatever is random inside the network depends on nothing that went before.
  torch::manual_seed(
      data::Random(seed_, static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(session_.rank())).at(0));
  const bool measured = noise_every_ > 0 && number % noise_every_ == 0;
  const auto work = [&](const StepBatch& seen) { return one_step(number, seen, measured); };
  const StepKind kind = measured ? StepKind::Measured : StepKind::Ordinary;
  const torch::Tensor values = graph_ ? graph_->run(batch, kind, work, graph_hooks()) : work(batch);
  StepFacts facts{.step = number, .samples = batch.size(), .learning_rate = learning_rate_};
  if (measured) {
    const std::int64_t some = session_.size() > 1 ? batch.size() : data::share({0, batch.size()}, 0, passes_).size();
    facts.noise_samples = static_cast<double>(some);
    facts.noise_weight = session_.size() / static_cast<double>(batch.global_size());
  }
  facts.comm_wait = distributed_->seconds_waited() - waited;
  apart_ = sync_every_ > 1;
  if (apart_ && number % sync_every_ == 0) {
    const auto begin = monotonic_now();
    sync_weights();
    facts.comm_wait += std::chrono::duration<double>(monotonic_now() - begin).count();
  }
  numbers_.send(facts, values);
}

// All of a step that happens on the device; a GPU is at it for much longer than this takes. Returns StepValues.
torch::Tensor Learner::one_step(std::int64_t number, const StepBatch& batch, bool measured) {
  distributed_->zero_grad();
  distributed_->measure_gradients(measured);
  if (scaling_) scaling_->begin_step();
  if (device_scaling_) device_scaling_->begin_step();
  torch::Tensor score;
  for (int i = 0; i < passes_; ++i) {
    const torch::Tensor some = pass(number, batch.part(data::share({0, batch.size()}, i, passes_)));
    score = score.defined() ? score + some : some;
  }
  const torch::Tensor rest = score.slice(0, kScoreValues);
  if (measured) rest.slice(0, 0, 2).copy_(distributed_->gradient_norm_values());
  bool goes = true;
  if (scaling_) {
    rest.slice(0, 0, 2).div_(scaling_->scaler().scale * scaling_->scaler().scale);
    goes = unscale(number);
  } else if (device_scaling_) {
    distributed_->synchronize();
    if (measured) rest.slice(0, 0, 2).div_(device_scaling_->scale().square());
    rest.slice(0, 2, 3).copy_(device_scaling_->unscale());
  }
  if (goes && clip_value_ > 0) clip_values(*distributed_, task_.trained(), clip_value_);
  if (goes && clip_norm_ > 0) distributed_->clip_grad_norm_on_device(clip_norm_);
  if (goes) distributed_->step();
  return score;
}

std::optional<Totals> Learner::finished(std::size_t most_left) {
  const auto read = numbers_.read(most_left);
  if (!read) return {};
  check_exchange();
  const auto& [facts, values] = *read;
  Totals totals{.step = facts.step, .learning_rate = facts.learning_rate};
  totals.comm_wait = facts.comm_wait;
  if (device_scaling_) count_overflow(facts.step, values[kScoreValues + 2] != 0);
  if (!std::isfinite(values[0]) && !scaling_ && !device_scaling_)
    throw Error(Error::Kind::System,
                fmt::format("the loss is not finite in step {} on rank {} (detected one step later on a GPU); a "
                            "smaller optimizer.lr, a warm-up (schedule.warmup) or train.clip_norm may help",
                            facts.step, session_.rank()));
  if (std::isfinite(values[0])) totals.score = score_from_values(values.data(), facts.samples);
  if (facts.noise_samples > 0)
    totals.noise = noise_sums(values[kScoreValues], values[kScoreValues + 1], facts.noise_samples, facts.noise_weight);
  return totals;
}

// By the rules by which the device has decided.
void Learner::count_overflow(std::int64_t number, bool overflow) {
  if (!overflow) return counted_.step_was_good();
  counted_.step_overflowed();
  if (counted_.hopeless()) give_up_scaling(number, counted_, *task_.network);
}

void Learner::sync_weights() {
  if (std::exchange(apart_, false))
    average_training(*task_.network, *optimizer_, session_.world(), session_.registry().optimizers);
}

// By the batches that an epoch really has: its rest, which is dropped, is no part of it. A whole number, unless the
// batch was another one before a break.
double Learner::learning_rate_at(const data::Batch::Facts& facts) const {
  return schedule_.at(static_cast<double>(facts.epoch * plan_.batches()) +
                      static_cast<double>(facts.global.begin) / static_cast<double>(plan_.batch));
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
  // The host hears of a step's overflow when the next one is under way; weights are those of the last.
  if (device_scaling_)
    extra[kScalerKey] = to_text(device_scaling_->now(counted_));
  else if (scaling_)
    extra[kScalerKey] = to_text(scaling_->scaler());
  return extra;
}

void Learner::restore(const std::map<std::string, std::string>& extra) {
  const auto found = extra.find(kScalerKey);
  if (!scaler() || found == extra.end()) return;
  const LossScaler before = parse_scaler(found->second, *scaler());
  if (scaling_) return scaling_->go_on_from(before);
  counted_ = before;
  device_scaling_->set(before);
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
    if (part.size() > 0 && (score.is_cpu() || scaling_)) check_loss(number, score[0].item<double>(), part, output);
  }
  RONDE_SPAN(trace::span_names::kBackward);
  const ModuleTrace::Pass traced(modules, ModuleTrace::Direction::Backward);
  const parallel::GradientScope scope(gradient_memory_ ? &*gradient_memory_ : nullptr);
  const double share = session_.size() / static_cast<double>(part.global_size());
  // The factor as the gradient of the loss: a product would be two kernels more.
  loss.backward(device_scaling_ ? device_scaling_->factor(loss) * share
                                : torch::full_like(loss, (scaling_ ? scaling_->factor() : 1.0) * share));
  return score;
}

void Learner::check_loss(std::int64_t number, double sum, const StepBatch& part, const torch::Tensor& output) {
  if (std::isfinite(sum) || device_scaling_) return;
  if (scaling_) return scaling_->overflowed();
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
