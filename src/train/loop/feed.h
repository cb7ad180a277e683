#pragma once

#include <optional>

#include "ronde/data/loader.h"
#include "ronde/train/input/device_input.h"
#include "ronde/train/loop/step_batch.h"
#include "ronde/train/session.h"

namespace ronde::train {

// The batches of a loader as steps take them: on a GPU one ahead, copied and touched by a stream of its own; on the CPU
// where they lie. One thread at a time.
class Feed {
 public:
  // REQUIRES: `loader` and `task` outlive it, and nobody else takes batches from the loader.
  Feed(data::Loader& loader, const Session& session, const Task& task, const Mixing& mixing = {});

  // Nothing after the last. On a GPU its tensors are overwritten after the next call.
  // FAILS WITH: what the loader fails with.
  std::optional<StepBatch> next();

 private:
  data::Loader& loader_;
  const Task& task_;
  const Mixing mixing_;
  std::optional<DeviceInput> on_gpu_;
};

}  // namespace ronde::train
