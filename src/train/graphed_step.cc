#include "ronde/train/graphed_step.h"

#include "ronde/base/error.h"
#include "ronde/trace/span.h"
#include "ronde/train/agree.h"

namespace ronde::train {
namespace {

struct FixedExchange {
  explicit FixedExchange(const GraphedStep::Hooks& all) : hooks(all) { hooks.fix_exchange(true); }
  ~FixedExchange() { hooks.fix_exchange(false); }
  FixedExchange(const FixedExchange&) = delete;
  FixedExchange& operator=(const FixedExchange&) = delete;
  const GraphedStep::Hooks& hooks;
};

bool alike(const torch::Tensor& a, const torch::Tensor& b) {
  return a.sizes() == b.sizes() && a.strides() == b.strides() && a.dtype() == b.dtype();
}

}  // namespace

bool GraphedStep::fits(const StepBatch& batch) const {
  return place_.inputs.defined() && alike(batch.inputs, place_.inputs) && alike(batch.targets, place_.targets) &&
         alike(batch.plain, place_.plain) && batch.global_size() == place_.global_size();
}

torch::Tensor GraphedStep::run(const StepBatch& batch, const Work& work, const Hooks& hooks) {
  hooks.prepare();
  if (!recorded_ && !given_up_) {
    steps_ = fits(batch) ? steps_ + 1 : 1;  // of batches that are alike
    if (steps_ > kWarmUps) {
      record(batch, work, hooks);
    } else {
      place_ = batch;
      if (steps_ == kWarmUps) return rehearse(batch, work, hooks);
    }
  }
  if (!recorded_ || !fits(batch)) return work(batch);
  RONDE_SPAN("launch step");
  place_.inputs.copy_(batch.inputs, /*non_blocking=*/true);
  place_.targets.copy_(batch.targets, /*non_blocking=*/true);
  if (batch.mixed()) place_.plain.copy_(batch.plain, /*non_blocking=*/true);
  graph_.launch();
  hooks.launched();
  return result_;
}

void GraphedStep::record(const StepBatch& batch, const Work& work, const Hooks& hooks) {
  RONDE_SPAN("record step");
  place_ = batch;
  place_.keeps = nullptr;
  place_.inputs = batch.inputs.clone();
  place_.targets = batch.targets.clone();
  place_.plain = batch.mixed() ? batch.plain.clone() : place_.targets;
  std::string failure;
  {
    const FixedExchange fixed(hooks);
    try {
      graph_.record([&] { result_ = work(place_); });
    } catch (const Error& error) {
      failure = error.message();
    }
  }
  hooks.recorded();
  recorded_ = agree(failure, hooks);
}

torch::Tensor GraphedStep::rehearse(const StepBatch& batch, const Work& work, const Hooks& hooks) {
  if (!agree(hooks.why_not_fixed(), hooks)) return work(batch);
  const FixedExchange fixed(hooks);
  return work(batch);
}

bool GraphedStep::agree(const std::string& failure, const Hooks& hooks) {
  const std::string why = objection(failure, "recorded step", group_);
  if (why.empty()) return true;
  if (insists_)
    throw Error(Error::Kind::System, fmt::format("train.graph is on, but a step cannot be recorded: {}", why));
  if (group_.rank() == 0) log_.info("steps are launched piece by piece, since one cannot be recorded: {}", why);
  given_up_ = true;
  graph_ = StepGraph();
  result_ = torch::Tensor();
  place_ = {};
  hooks.given_up();  // once the graph is gone
  return false;
}

}  // namespace ronde::train
