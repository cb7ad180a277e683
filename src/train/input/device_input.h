#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <torch/torch.h>

#include "ronde/data/pipeline.h"
#include "ronde/train/loop/step_batch.h"
#include "ronde/train/options.h"

namespace ronde::train {

// Whether data.on_device asks for pictures as bytes (PictureOptions::u8), of which the device makes the rest. 'auto' is
// where training runs on a GPU and this build has the kernel; 'on' is everywhere, so that it can be tried on the CPU.
bool augments_on_device(const TrainingOptions& options, torch::Device device);

struct DeviceInputOptions {
  torch::Device device = torch::kCPU;
  torch::ScalarType type = torch::kFloat32;  // of inputs, or kBFloat16
  bool channels_last = false;
  double mixup = 0;        // as mixup_of(); 0: none
  std::uint64_t seed = 0;  // of mixup
};

// Batches of a pipeline on a device, one ahead: while one is trained on, the next is copied, and its pictures are
// augmented (data/augment/augment.h), by a stream of its own. Nobody waits for a GPU here, unless the caller is two
// batches ahead of it.
//
//   DeviceInput input(batches, {.device = session.device(), .type = torch::kBFloat16, .channels_last = true});
//   while (auto batch = input.next()) train(batch->inputs, batch->targets);
//
// Wants a pipeline whose memory is pinned (PipelineOptions::device), or copies make the caller wait. One thread at a
// time.
class DeviceInput {
 public:
  // REQUIRES: `batches` outlives this, and nobody else takes any of it.
  // FAILS WITH: BadInput for a device that is not there.
  DeviceInput(data::Pipeline& batches, DeviceInputOptions options);
  ~DeviceInput();  // waits for copies that are under way
  DeviceInput(const DeviceInput&) = delete;
  DeviceInput& operator=(const DeviceInput&) = delete;

  // The next batch, for torch's current stream of this thread, which waits for it by itself; nothing after the last.
  // Its tensors are overwritten after the next call: by then all work on them must be in the stream that is current.
  // FAILS WITH: as Pipeline::next_batch(), once the batches before have been given out; System.
  std::optional<StepBatch> next();

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace ronde::train
