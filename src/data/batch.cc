#include "ronde/data/batch.h"

#include <utility>

#include "ronde/data/detail/buffer_pool.h"

namespace ronde::data {

Batch::Batch(Facts facts, std::shared_ptr<detail::BufferPool> pool)
    : facts_(facts), pool_(std::move(pool)), buffer_(pool_->take()) {
  buffer_->reserve(static_cast<std::size_t>(size()), facts_.kind);
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

std::span<float> Batch::features() const {
  return {buffer_->features.data(), static_cast<std::size_t>(size()) * facts_.kind.values()};
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
  return {.features = part(features(), kind.values()),
          .classes = part(classes(), kind.class_values()),
          .flags = part(flags(), kind.flag_values())};
}

}  // namespace ronde::data
