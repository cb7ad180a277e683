#include "ronde/data/batch.h"

#include <utility>

#include "ronde/data/detail/buffer_pool.h"

namespace ronde::data {

Batch::Batch(Facts facts, std::shared_ptr<detail::BufferPool> pool)
    : facts_(facts), pool_(std::move(pool)), buffer_(pool_->take()) {
  buffer_->reserve(static_cast<std::size_t>(size()), facts_.kind.values());
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
  return {buffer_->features(), static_cast<std::size_t>(size()) * facts_.kind.values()};
}

std::span<std::int64_t> Batch::labels() const {
  return {buffer_->labels(), static_cast<std::size_t>(size())};
}

}  // namespace ronde::data
