#include "ronde/train/learner.h"

#include <cmath>

#include "ronde/base/error.h"
#include "ronde/data/random.h"
#include "ronde/parallel/collectives.h"
#include "ronde/parallel/tensor_buffer.h"
#include "ronde/trace/span.h"
#include "ronde/train/finite.h"
#include "ronde/train/optimizers.h"

namespace ronde::train {
namespace {

constexpr const char* kScalerKey = "loss_scale";

comm::Compression compression_of(const std::string& name) {
  if (name == "f16") return comm::Compression::F16;
  return name == "bf16" ? comm::Compression::BF16 : comm::Compression::None;
}

}  // namespace

Learner::Learner(const Session& session, Task& task)
    : session_(session),
      task_(task),
      schedule_(schedule_of(session.settings())),
      passes_(static_cast<int>(session.settings().get<"train.accumulate">())),
      clip_norm_(session.settings().get<"train.clip_norm">()),
      seed_(static_cast<std::uint64_t>(session.settings().get<"train.seed">())),
      precision_(parse_precision(session.settings().get<"train.precision">())),
      optimizer_(make_optimizer(session.settings(), task.network->parameters())) {
  const Settings& settings = session.settings();
  broadcast_parameters(*task.network, session.world());
  if (settings.get<"memory.arena">() && session.local_size() > 1)
    gradient_memory_.emplace(session.engine(),
                             parallel::GradientMemoryOptions{.sizes = parallel::sizes_of(task.network->parameters())});
  distributed_.emplace(*optimizer_, parallel::named(*task.network), session.world(),
                       DistributedOptions{.compression = compression_of(settings.get<"train.compression">()),
                                          .accumulate = passes_,
                                          .overlap = settings.get<"train.overlap">()});
  if (precision_ == Precision::F16) scaling_.emplace(session, *task.network);
}

Totals Learner::step(std::int64_t number, const data::Batch& batch) {
  const double waited = distributed_->seconds_waited();
  const auto& facts = batch.facts();
  const double samples = static_cast<double>(task_.samples->size());
  learning_rate_ = schedule_.at(static_cast<double>(facts.epoch) + static_cast<double>(facts.global.begin) / samples);
  set_learning_rate(*optimizer_, learning_rate_);
  // Whatever is random inside the network depends on nothing that went before.
  torch::manual_seed(
      data::Random(seed_, static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(session_.rank())).at(0));
  distributed_->zero_grad();
  if (scaling_) scaling_->begin_step();
  Totals totals;
  for (int i = 0; i < passes_; ++i) pass(number, batch, data::share({0, batch.size()}, i, passes_), totals);
  if (!scaling_ || unscale(number)) {
    if (clip_norm_ > 0) distributed_->clip_grad_norm(clip_norm_);
    distributed_->step();
  }
  totals.comm_wait = distributed_->seconds_waited() - waited;
  return totals;
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
  torch::Tensor output, loss;
  {
    RONDE_SPAN("forward");
    output = forward_in(precision_, *task_.network, samples.inputs);
    loss = task_.loss(output, samples.labels);
  }
  if (part.size() > 0) {
    torch::NoGradGuard no_grad;
    const double sum = task_.plain_loss(output, samples.labels).item<double>();
    const bool finite = std::isfinite(sum);
    if (!finite && !scaling_) give_up(number, samples, output);
    if (!finite) scaling_->overflowed();  // the score of these samples is lost with the step
    if (finite) totals.score += score_of(output.detach(), samples.labels, sum / static_cast<double>(part.size()));
  }
  RONDE_SPAN("backward");
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
