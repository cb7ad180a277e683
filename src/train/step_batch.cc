#include "ronde/train/step_batch.h"

#include <utility>

#include "ronde/train/mixup.h"

namespace ronde::train {

StepBatch StepBatch::part(data::Range range) const {
  StepBatch some = *this;
  const auto cut = [&](const torch::Tensor& all) { return all.slice(0, range.begin, range.end); };
  some.inputs = cut(inputs);
  some.targets = cut(targets);
  some.plain = mixed() ? cut(plain) : some.targets;
  some.facts.local = {facts.local.begin + range.begin, facts.local.begin + range.end};
  return some;
}

StepBatch step_batch_of(data::Batch batch, const Task& task, torch::Device device, const Mixing& mixing) {
  auto kept = std::make_shared<data::Batch>(std::move(batch));
  const data::Batch::Facts& facts = kept->facts();
  Samples samples = samples_of(*kept, {0, kept->size()}, task, device);
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
