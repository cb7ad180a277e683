#pragma once

#include <optional>

#include "ronde/data/pipeline.h"
#include "ronde/train/input/device_input.h"
#include "ronde/train/loop/step_batch.h"
#include "ronde/train/session.h"

namespace ronde::train {

// The batches of a pipeline as steps take them: on a GPU one ahead, copied and augmented by a stream of its own; on
// the CPU where they lie. One thread at a time.
class Feed {
 public:
  // REQUIRES: `batches` and `task` outlive it, and nobody else takes any of `batches`.
  Feed(data::Pipeline& batches, const Session& session, const Task& task, const Mixing& mixing = {});

  // Nothing after the last. On a GPU its tensors are overwritten after the next call.
  // FAILS WITH: as Pipeline::next_batch().
  std::optional<StepBatch> next();

 private:
  data::Pipeline& batches_;
  const Task& task_;
  const Mixing mixing_;
  std::optional<DeviceInput> on_gpu_;
};

}  // namespace ronde::train
