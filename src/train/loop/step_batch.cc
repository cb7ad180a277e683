#include "ronde/train/loop/step_batch.h"

#include <utility>

#include "ronde/train/input/mixup.h"

namespace ronde::train {

StepBatch StepBatch::part(data::Range range) const {
  StepBatch some = *this;
  const auto cut = [&](const torch::Tensor& all) { return all.slice(0, range.begin, range.end); };
  some.inputs = cut(inputs);
  some.targets = cut(targets);
  some.plain = mixed() ? cut(plain) : some.targets;
  some.facts.local = {facts.local.begin + range.begin, facts.local.begin + range.end};
  some.facts.stand_ins.clear();
  for (const std::int64_t one : facts.stand_ins)
    if (range.begin <= one && one < range.end) some.facts.stand_ins.push_back(one - range.begin);
  return some;
}

StepBatch StepBatch::without_stand_ins() const {
  if (facts.stand_ins.empty()) return *this;
  torch::Tensor rows = torch::ones({size()}, torch::kBool);
  for (const std::int64_t row : facts.stand_ins) rows[row] = false;
  rows = rows.nonzero().squeeze(1).to(inputs.device());
  const auto chosen = [&](const torch::Tensor& all) { return all.index_select(0, rows); };
  StepBatch some = *this;
  some.inputs = chosen(inputs);
  some.targets = targets.is_same(inputs) ? some.inputs : chosen(targets);
  some.plain = mixed() ? chosen(plain) : some.targets;
  some.facts.stand_ins.clear();
  some.facts.local.end = some.facts.local.begin + rows.size(0);
  return some;
}

void ignore_class(std::int64_t ignored, torch::Tensor& targets) {
  if (ignored >= 0) targets.masked_fill_(targets.eq(ignored), models::kIgnoredClass);
}

StepBatch step_batch_of(data::Batch batch, const Task& task, torch::Device device, const Mixing& mixing) {
  auto kept = std::make_shared<data::Batch>(std::move(batch));
  const data::Batch::Facts& facts = kept->facts();
  Samples samples = samples_of(*kept, {0, kept->size()}, task, device);
  ignore_class(task.ignored, samples.targets);
  StepBatch made{.facts = facts, .inputs = samples.inputs, .targets = samples.targets, .plain = samples.targets};
  if (mixing.alpha > 0 && kept->size() > 0) {
    Samples mixture = mixed(samples, mixing.alpha, mixing.seed, facts.epoch, facts.local.begin, facts.kind.classes);
    made.inputs = std::move(mixture.inputs);
    made.targets = std::move(mixture.targets);
  }
  made.keeps = std::move(kept);
  return made;
}

}  // namespace ronde::train
