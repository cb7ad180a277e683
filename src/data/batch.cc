#include "ronde/data/batch.h"

#include <utility>

#include "ronde/data/detail/buffer_pool.h"

namespace ronde::data {

Batch::Batch(Facts facts, std::shared_ptr<detail::BufferPool> pool)
    : facts_(facts), pool_(std::move(pool)), buffer_(pool_->take()) {
  buffer_->reserve(static_cast<std::size_t>(size()), facts_.kind, pool_->pinned());
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
  return {buffer_->features.data(), facts_.kind.bf16 ? 0 : static_cast<std::size_t>(size()) * facts_.kind.values()};
}

std::span<Bf16> Batch::features16() const {
  return {buffer_->features16.data(), facts_.kind.bf16 ? static_cast<std::size_t>(size()) * facts_.kind.values() : 0};
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
  return {.features = part(features(), kind.bf16 ? 0 : kind.values()),
          .features16 = part(features16(), kind.bf16 ? kind.values() : 0),
          .classes = part(classes(), kind.class_values()),
          .flags = part(flags(), kind.flag_values())};
}

}  // namespace ronde::data
