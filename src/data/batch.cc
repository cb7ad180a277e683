#include "ronde/data/batch.h"

#include <utility>

#include "ronde/data/pipeline/memory/buffer_pool.h"

namespace ronde::data {

Batch::Batch(Facts facts, std::shared_ptr<detail::BufferPool> pool)
    : facts_(facts), pool_(std::move(pool)), buffer_(pool_->take()) {
  const device::CurrentDevice current(pool_->device());  // pinning opens the GPU that is current
  buffer_->reserve(static_cast<std::size_t>(size()), facts_.kind, pool_->device() != device::kHost);
}

Batch::Batch(Batch&&) noexcept = default;

Batch& Batch::operator=(Batch&& other) noexcept {
  std::swap(facts_, other.facts_);
  std::swap(pool_, other.pool_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

Batch::~Batch() {
  if (buffer_) pool_->give_back(std::move(buffer_));
}

bool Batch::is_filled() const {
  return buffer_->filled >= static_cast<std::size_t>(size());
}

void Batch::mark_filled() {
  buffer_->filled = static_cast<std::size_t>(size());
}

std::span<float> Batch::features() const {
  return {buffer_->features.data(), static_cast<std::size_t>(size()) * detail::values_of<float>(facts_.kind)};
}

std::span<Bf16> Batch::features16() const {
  return {buffer_->features16.data(), static_cast<std::size_t>(size()) * detail::values_of<Bf16>(facts_.kind)};
}

std::span<std::uint8_t> Batch::features8() const {
  return {buffer_->features8.data(), static_cast<std::size_t>(size()) * detail::values_of<std::uint8_t>(facts_.kind)};
}

std::span<Augmentation> Batch::augmentations() const {
  return {buffer_->augmentations.data(), static_cast<std::size_t>(size()) * facts_.kind.augmentation_values()};
}

std::span<std::int64_t> Batch::classes() const {
  return {buffer_->classes.data(), static_cast<std::size_t>(size()) * facts_.kind.class_values()};
}

std::span<float> Batch::flags() const {
  return {buffer_->flags.data(), static_cast<std::size_t>(size()) * facts_.kind.flag_values()};
}

SampleSpace Batch::sample(std::int64_t i) const {
  const auto part = [i](auto all, std::size_t each) { return all.subspan(static_cast<std::size_t>(i) * each, each); };
  const SampleKind& kind = facts_.kind;
  return {.features = part(features(), detail::values_of<float>(kind)),
          .features16 = part(features16(), detail::values_of<Bf16>(kind)),
          .features8 = part(features8(), detail::values_of<std::uint8_t>(kind)),
          .augmentation = part(augmentations(), kind.augmentation_values()),
          .classes = part(classes(), kind.class_values()),
          .flags = part(flags(), kind.flag_values())};
}

}  // namespace ronde::data
