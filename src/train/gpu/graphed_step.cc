#include "ronde/train/gpu/graphed_step.h"

#include <algorithm>

#include "ronde/base/error.h"
#include "ronde/trace/span.h"
#include "ronde/trace/span_names.h"
#include "ronde/train/loop/agree.h"

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

bool GraphedStep::any_recorded() const {
  return std::ranges::any_of(recordings_, [](const Recording& one) { return one.state.recorded; });
}

torch::Tensor GraphedStep::run(const StepBatch& batch, StepKind kind, const Work& work, const Hooks& hooks) {
  hooks.prepare();
  if (given_up_) return work(batch);
  Recording& mine = recording(kind);
  const bool fit = fits(batch), any = any_recorded();
  const StepAction action = next_action(mine.state, any && !mine.state.recorded, fit);
  if (action == StepAction::Launch) return launch(mine, batch, hooks);
  if (action == StepAction::Record) {
    record(kind, batch, work, hooks);
    return mine.state.recorded ? launch(mine, batch, hooks) : work(batch);
  }
  if (!any) {
    if (!fit)  // runs are counted of batches that are alike
      for (Recording& one : recordings_) one.state.runs = 0;
    place_ = batch;
  }
  if (fit || !any) ++mine.state.runs;
  return action == StepAction::WarmUp ? warm_up(batch, work, hooks) : work(batch);
}

void GraphedStep::copy_in(const StepBatch& batch) {
  place_.inputs.copy_(batch.inputs, /*non_blocking=*/true);
  place_.targets.copy_(batch.targets, /*non_blocking=*/true);
  if (batch.mixed()) place_.plain.copy_(batch.plain, /*non_blocking=*/true);
}

torch::Tensor GraphedStep::launch(Recording& mine, const StepBatch& batch, const Hooks& hooks) {
  RONDE_SPAN(trace::span_names::kLaunchStep);
  copy_in(batch);
  mine.graph.launch();
  hooks.launched();
  return mine.result;
}

void GraphedStep::record(StepKind kind, const StepBatch& batch, const Work& work, const Hooks& hooks) {
  RONDE_SPAN(trace::span_names::kRecordStep);
  Recording& mine = recording(kind);
  const auto other = std::ranges::find_if(recordings_, [](const Recording& one) { return one.state.recorded; });
  const StepGraph* const beside = other == recordings_.end() ? nullptr : &other->graph;
  if (!beside) {
    place_ = batch;
    place_.keeps = nullptr;
    place_.inputs = batch.inputs.clone();
    place_.targets = batch.targets.clone();
    place_.plain = batch.mixed() ? batch.plain.clone() : place_.targets;
  }
  std::string failure;
  {
    const FixedExchange fixed(hooks);
    try {
      mine.graph.record([&] { mine.result = work(place_); }, beside);
    } catch (const Error& error) {
      failure = error.message();
    }
  }
  hooks.recorded();
  const std::string why = objection_of_ranks(failure);
  mine.state.recorded = why.empty();
  if (why.empty()) return;
  if (!beside) return give_up(why, hooks);
  mine.state.refused = true;  // the others go on as they are
  mine.graph = StepGraph();
  mine.result = torch::Tensor();
  if (group_.rank() == 0)
    log_.info("{} steps are launched kernel by kernel, because a step cannot be recorded: {}",
              kind == StepKind::Measured ? "measured" : "ordinary", why);
}

torch::Tensor GraphedStep::warm_up(const StepBatch& batch, const Work& work, const Hooks& hooks) {
  if (!exchange_can_be_fixed_) {
    if (const std::string why = objection_of_ranks(hooks.why_not_fixed()); !why.empty()) {
      give_up(why, hooks);
      return work(batch);
    }
    exchange_can_be_fixed_ = true;
  }
  const FixedExchange fixed(hooks);
  return work(batch);
}

std::string GraphedStep::objection_of_ranks(const std::string& failure) const {
  std::string why = objection(failure, "recorded step", group_);
  if (!why.empty() && insists_)
    throw Error(Error::Kind::System, fmt::format("train.graph is on, but a step cannot be recorded: {}", why));
  return why;
}

void GraphedStep::give_up(const std::string& why, const Hooks& hooks) {
  if (group_.rank() == 0) log_.info("steps are launched kernel by kernel, because a step cannot be recorded: {}", why);
  given_up_ = true;
  recordings_ = {};
  place_ = {};
  hooks.given_up();  // once the graphs are gone
}

}  // namespace ronde::train
