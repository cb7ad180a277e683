#include <utility>
#include <vector>

#include "ronde/data/augment/augment.h"
#include "ronde/data/augment/mixup.h"
#include "ronde/parallel/tensor_buffer.h"
#include "ronde/trace/span.h"
#include "ronde/train/gpu/device_slot.h"

namespace ronde::train::detail {
namespace {

torch::MemoryFormat format_of(bool channels_last) {
  return channels_last ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous;
}

// Copied from the beginning of a tensor on; nothing is checked.
void copy(const torch::Tensor& into, const void* from, std::size_t bytes, const device::Stream& stream) {
  device::copy_async(into.data_ptr(), from, bytes, stream);
}

}  // namespace

DeviceSlot::DeviceSlot(const DeviceInputOptions& options, const device::Stream& copies)
    : options_(options), filled_(copies), used_(copies) {}

// Memory that torch hands out may still be read by work in the current stream: whose end is waited for, as always.
void DeviceSlot::make_room(const data::Batch& batch) {
  const data::SampleKind& kind = batch.facts().kind;
  if (batch.size() <= room_) return;
  const std::int64_t room = batch.size();
  const auto on = [&](torch::ScalarType type) { return torch::device(options_.device).dtype(type); };
  const auto shape = with_samples(room, kind.shape());
  const bool last = kind.layout == data::Layout::ChannelsLast;
  if (kind.u8) {
    came_ = torch::empty({room * static_cast<std::int64_t>(kind.values())}, on(torch::kUInt8));
    augmentations_ = torch::empty({room * static_cast<std::int64_t>(sizeof(data::Augmentation))}, on(torch::kUInt8));
    inputs_ = torch::empty(shape, on(options_.type).memory_format(format_of(options_.channels_last)));
  } else {
    came_ = torch::empty(shape, on(kind.bf16 ? torch::kBFloat16 : torch::kFloat32).memory_format(format_of(last)));
  }
  if (kind.target != data::Target::Input)
    targets_ = torch::empty(with_samples(room, target_shape(kind)),
                            on(kind.flag_values() > 0 ? torch::kFloat32 : torch::kInt64));
  if (options_.mixup > 0) {
    shares_ = torch::empty({room}, on(torch::kFloat32));
    others_ = torch::arange(room, on(torch::kInt64)).bitwise_xor(1);
    classes_ = torch::arange(kind.classes, on(torch::kInt64));
    host_shares_ = device::PinnedBuffer(static_cast<std::size_t>(room) * sizeof(float));
  }
  room_ = room;
  used_.record(parallel::current_stream(options_.device));
}

// Where they are read from: beside the pictures, or by themselves.
void DeviceSlot::write_shares(data::Batch& batch) {
  const data::Batch::Facts& facts = batch.facts();
  auto* shares = reinterpret_cast<float*>(host_shares_.data());
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    const bool paired = (i ^ 1) < batch.size();
    const double share = data::mixup_share(options_.seed, facts.epoch, (facts.local.begin + i) / 2, options_.mixup);
    shares[i] = paired ? static_cast<float>(share) : 1.0f;
    if (facts.kind.u8) batch.augmentations()[static_cast<std::size_t>(i)].share = shares[i];
  }
}

void DeviceSlot::fill_inputs(const data::Batch& batch, const device::Stream& copies) {
  const data::SampleKind& kind = batch.facts().kind;
  if (!kind.u8) {
    if (kind.bf16) return copy(came_, batch.features16().data(), batch.features16().size_bytes(), copies);
    return copy(came_, batch.features().data(), batch.features().size_bytes(), copies);
  }
  data::AugmentOptions augment = data::AugmentOptions::of(kind, batch.size());
  augment.layout = options_.channels_last ? data::Layout::ChannelsLast : data::Layout::ChannelsFirst;
  augment.bf16 = options_.type == torch::kBFloat16;
  if (copies.on_host()) {
    RONDE_SPAN("augment", "input", {{"bytes", augment.into_bytes()}});
    return data::augment_pictures(augment, batch.features8().data(), batch.augmentations().data(), inputs_.data_ptr());
  }
  copy(came_, batch.features8().data(), batch.features8().size_bytes(), copies);
  copy(augmentations_, batch.augmentations().data(), batch.augmentations().size_bytes(), copies);
  data::augment_pictures_on(copies, augment, came_.data_ptr<std::uint8_t>(),
                            reinterpret_cast<const data::Augmentation*>(augmentations_.data_ptr()), inputs_.data_ptr());
}

void DeviceSlot::fill(data::Batch batch, const device::Stream& copies) {
  // The memory of the batch before goes back to the pipeline only now: its copy must have been made.
  if (!filled_.ready()) {
    RONDE_SPAN("wait for copy", "wait");
    filled_.synchronize();
  }
  batch_.reset();
  make_room(batch);
  if (options_.mixup > 0) write_shares(batch);
  copies.wait(used_);
  batch_ = std::move(batch);  // also where what follows fails: some of it may be under way
  const data::SampleKind& kind = batch_->facts().kind;
  const auto samples = static_cast<std::size_t>(batch_->size());
  if (samples > 0) {
    fill_inputs(*batch_, copies);
    if (kind.flag_values() > 0)
      copy(targets_, batch_->flags().data(), batch_->flags().size_bytes(), copies);
    else if (kind.target != data::Target::Input)
      copy(targets_, batch_->classes().data(), batch_->classes().size_bytes(), copies);
    if (options_.mixup > 0) copy(shares_, host_shares_.data(), samples * sizeof(float), copies);
  }
  filled_.record(copies);
}

torch::Tensor DeviceSlot::first(const torch::Tensor& all) const {
  return all.narrow(0, 0, batch_->size());
}

// share * own + (1 - share) * neighbour's.
torch::Tensor DeviceSlot::mixed(const torch::Tensor& values) const {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(values.dim()), 1);
  shape[0] = batch_->size();
  const torch::Tensor share = first(shares_).view(shape);
  const torch::Tensor others = first(others_).clamp_max(batch_->size() - 1);  // a last one by itself: its share is 1
  return values * share + values.index_select(0, others) * (1 - share);
}

// Samples that were no bytes: all of it by torch, in the caller's stream.
torch::Tensor DeviceSlot::copied_inputs() const {
  torch::Tensor inputs = first(came_);
  if (options_.mixup > 0 && batch_->size() > 0) inputs = mixed(inputs.to(torch::kFloat32));
  return inputs.to(inputs.options().dtype(options_.type), false, false, format_of(options_.channels_last));
}

StepBatch DeviceSlot::take() {
  const torch::NoGradGuard no_grad;
  parallel::current_stream(options_.device).wait(filled_);
  const data::SampleKind& kind = batch_->facts().kind;
  StepBatch taken{.facts = batch_->facts()};
  taken.inputs = kind.u8 ? first(inputs_) : copied_inputs();
  taken.targets = taken.plain = kind.target == data::Target::Input ? taken.inputs : first(targets_);
  if (options_.mixup > 0) {
    const torch::Tensor flags = taken.plain.unsqueeze(1).eq(classes_).to(torch::kFloat32);
    taken.targets = batch_->size() > 0 ? mixed(flags) : flags;
  }
  return taken;
}

void DeviceSlot::mark_used() {
  used_.record(parallel::current_stream(options_.device));
}

}  // namespace ronde::train::detail
