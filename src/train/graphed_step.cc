#include "ronde/train/graphed_step.h"

#include <array>
#include <span>

#include "ronde/base/error.h"
#include "ronde/trace/span.h"

namespace ronde::train {
namespace {

bool all_could(bool mine, const comm::Group& group) {
  if (group.size() == 1) return mine;
  std::array flag = {mine ? 1.0 : 0.0};
  group.run({.name = "recorded step", .input = comm::buffer_of(std::span<double>(flag)), .op = comm::ReduceOp::Min});
  return flag[0] > 0;
}

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
    if (steps_ > kWarmUps)
      record(batch, work, hooks);
    else
      place_ = batch;
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
  try {
    graph_.record([&] { result_ = work(place_); });
  } catch (const Error& error) {
    failure = error.message();
  }
  hooks.recorded();
  recorded_ = all_could(failure.empty(), group_);
  given_up_ = !recorded_;
  if (recorded_) return;
  if (failure.empty()) failure = "another rank cannot";
  if (insists_)
    throw Error(Error::Kind::System, fmt::format("train.graph is on, but a step cannot be recorded: {}", failure));
  log_.info("rank {}: steps are launched piece by piece, since one cannot be recorded: {}", group_.rank(), failure);
  graph_ = StepGraph();
  result_ = torch::Tensor();
  place_ = {};
}

}  // namespace ronde::train
