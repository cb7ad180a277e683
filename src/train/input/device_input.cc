#include "ronde/train/input/device_input.h"

#include <array>
#include <exception>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/augment/augment.h"
#include "ronde/parallel/tensor_buffer.h"
#include "ronde/train/gpu/device_slot.h"

namespace ronde::train {

bool augments_on_device(const TrainingOptions& options, torch::Device device) {
  const std::string choice = options.data.on_device;
  if (choice != "auto") return choice == "on";
  return !device.is_cpu() && data::can_augment_on_gpu();
}

struct DeviceInput::Impl {
  Impl(data::Pipeline& from, DeviceInputOptions chosen)
      : batches(from),
        options(chosen),
        copies(parallel::number_of(options.device)),
        slots{detail::DeviceSlot(options, copies), detail::DeviceSlot(options, copies)} {}

  // The batch after the last one that was filled. What goes wrong is for the call that would have given it out.
  void fill_next() {
    const int slot = 1 - filled;
    try {
      auto batch = batches.next_batch();
      ready = batch.has_value();
      if (batch) slots[static_cast<std::size_t>(slot)].fill(std::move(*batch), copies);
    } catch (...) {
      ready = false;
      failure = std::current_exception();
    }
    filled = slot;
  }

  data::Pipeline& batches;
  const DeviceInputOptions options;
  device::Stream copies;  // before slots: their events are made for it
  std::array<detail::DeviceSlot, 2> slots;
  int filled = 1;      // the slot that was filled last
  int given = -1;      // the one that the caller has
  bool begun = false;  // the first batch was asked for
  bool ready = false;  // the slot that was filled last holds a batch to be given out
  std::exception_ptr failure;
};

DeviceInput::DeviceInput(data::Pipeline& batches, DeviceInputOptions options)
    : impl_(std::make_unique<Impl>(batches, options)) {
  if (options.type != torch::kFloat32 && options.type != torch::kBFloat16)
    throw Error(Error::Kind::Bug, "the inputs of a network must be f32 or bf16");
}

DeviceInput::~DeviceInput() {
  try {
    impl_->copies.synchronize();
  } catch (const std::exception&) {
    // Whoever uses the GPU next is told.
  }
}

std::optional<StepBatch> DeviceInput::next() {
  Impl& impl = *impl_;
  if (impl.given >= 0) impl.slots[static_cast<std::size_t>(std::exchange(impl.given, -1))].mark_used();
  if (!std::exchange(impl.begun, true)) impl.fill_next();
  if (impl.failure) std::rethrow_exception(impl.failure);
  if (!impl.ready) return {};
  impl.given = impl.filled;
  StepBatch batch = impl.slots[static_cast<std::size_t>(impl.given)].take();
  impl.fill_next();
  return batch;
}

}  // namespace ronde::train
