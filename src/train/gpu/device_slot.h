#pragma once

#include <cstdint>
#include <optional>

#include "ronde/data/batch.h"
#include "ronde/device/memory.h"
#include "ronde/device/stream.h"
#include "ronde/train/input/device_input.h"

namespace ronde::train::detail {

// The memory of one batch on a device, used again and again, and what is needed to fill it.
//
//   copy stream:     wait for `used_`; copy; augment; record `filled_`
//   compute stream:  wait for `filled_`; train; record `used_`
class DeviceSlot {
 public:
  DeviceSlot(const DeviceInputOptions& options, const device::Stream& copies);

  // Puts the filling into the copy stream. Keeps the batch, whose memory is read until that is done.
  void fill(data::Batch batch, const device::Stream& copies);
  // Makes the current stream wait for it. What the copy stream leaves to be done is done there.
  StepBatch take();
  // The current stream has all work on it now.
  void mark_used();

 private:
  void make_room(const data::Batch& batch);
  void write_shares(data::Batch& batch);
  void fill_inputs(const data::Batch& batch, const device::Stream& copies);
  torch::Tensor first(const torch::Tensor& all) const;
  torch::Tensor copied_inputs() const;
  torch::Tensor mixed(const torch::Tensor& values) const;

  const DeviceInputOptions options_;
  std::optional<data::Batch> batch_;
  std::int64_t room_ = -1;              // samples that tensors hold
  torch::Tensor came_, augmentations_;  // bytes as they came, with their augmentations; or features as they came
  torch::Tensor inputs_;                // augmented
  torch::Tensor targets_, shares_;      // shares of mixup
  torch::Tensor others_, classes_;      // 1, 0, 3, 2, ... : neighbours; 0, 1, 2, ...
  device::PinnedBuffer host_shares_;
  device::Event filled_, used_;
};

}  // namespace ronde::train::detail
