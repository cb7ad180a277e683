#pragma once

#include <cstdint>
#include <memory>

#include <torch/torch.h>

#include "ronde/data/batch.h"
#include "ronde/train/loop/training_task.h"

namespace ronde::train {

// This rank's part of a global batch, as a step takes it: on the device that trains, with what is done to pictures
// done.
struct StepBatch {
  data::Batch::Facts facts = {};
  torch::Tensor inputs = {};
  torch::Tensor targets = {};                   // what the loss is of,
  torch::Tensor plain = {};                     // and what the samples are: the same, unless pairs of them are mixed
  std::shared_ptr<const void> keeps = nullptr;  // the memory, where the tensors do not

  std::int64_t size() const { return facts.local.size(); }
  std::int64_t global_size() const { return facts.global.size(); }
  bool mixed() const { return plain.defined() && !plain.is_same(targets); }
  // The samples of a part of it.
  StepBatch part(data::Range range) const;
  // Those that were read, without those that stand in for such that could not be.
  StepBatch without_stand_ins() const;
};

struct Mixing {
  double alpha = 0;  // 0: off
  std::uint64_t seed = 0;
};

// Makes models::kIgnoredClass of a class of masks (train.ignore_index; -1: none), in place: recorded steps expect
// targets where they were.
void ignore_class(std::int64_t ignored, torch::Tensor& targets);

// Copied to the device where that is another one. The batch is kept.
StepBatch step_batch_of(data::Batch batch, const Task& task, torch::Device device, const Mixing& mixing = {});

}  // namespace ronde::train
