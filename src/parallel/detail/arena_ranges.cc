#include "ronde/parallel/detail/arena_ranges.h"

#include <utility>

namespace ronde::parallel::detail {

void* ArenaRanges::Range::allocate(std::size_t bytes) {
  references_.fetch_add(1, std::memory_order_relaxed);
  void* const block = pool_.load()->allocate(bytes);
  if (!block) release();
  return block;
}

void ArenaRanges::Range::free(void* block) {
  pool_.load()->free(block);
  release();
}

std::size_t ArenaRanges::Range::trim() {
  std::size_t references = references_.load();
  do {
    if (references == 0) return 0;
  } while (!references_.compare_exchange_weak(references, references + 1));
  const std::size_t bytes = pool_.load()->trim();
  release();
  return bytes;
}

void ArenaRanges::Range::release() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete pool_.exchange(nullptr);
}

ArenaRanges::~ArenaRanges() {
  for (Range* range = first_.load(); range;) delete std::exchange(range, range->next_);
}

ArenaRanges::Range& ArenaRanges::add(std::unique_ptr<ArenaPool> pool) {
  auto* const range = new Range(std::move(pool));
  range->next_ = first_.load();
  while (!first_.compare_exchange_weak(range->next_, range)) {
  }
  return *range;
}

ArenaRanges::Range* ArenaRanges::find(const void* address) const {
  for (Range* range = first_.load(std::memory_order_acquire); range; range = range->next_)
    if (range->contains(address)) return range;
  return nullptr;
}

std::size_t ArenaRanges::trim() const {
  std::size_t bytes = 0;
  for (Range* range = first_.load(std::memory_order_acquire); range; range = range->next_) bytes += range->trim();
  return bytes;
}

}  // namespace ronde::parallel::detail
