#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ronde/data/order/batch_plan.h"
#include "ronde/data/order/order.h"

namespace ronde::data {

// The order of an epoch for storage that dislikes jumping: chunks (runs of samples that lie together) come in random
// order, and samples are mixed with those of `window` chunks at a time. So every chunk can be read from front to back,
// every sample still comes exactly once, and nothing depends on ranks or threads. Takes some bytes a chunk.
// A plain value; safe to read from any thread.
class ChunkOrder {
 public:
  // REQUIRES: the chunks are all samples, in order.
  // FAILS WITH: BadInput for a window below 1.
  ChunkOrder(std::vector<Range> chunks, std::int64_t window, std::uint64_t seed, std::int64_t epoch);

  // REQUIRES: 0 <= position < size().
  std::int64_t operator[](std::int64_t position) const;
  std::int64_t size() const { return begins_.empty() ? 0 : begins_.back(); }

  // The chunks that are read from `position` to the end of its window: what should be on its way then.
  std::vector<Range> window_at(std::int64_t position) const;
  // The first position of the next window.
  std::int64_t window_end(std::int64_t position) const;

 private:
  std::int64_t window_of(std::int64_t position) const;

  std::vector<Range> chunks_;         // in the order of this epoch
  std::vector<std::int64_t> begins_;  // first position of each, and the end of the last
  std::int64_t window_;
  std::uint64_t seed_;
  std::int64_t epoch_;
};

// The chunks of a source that holds some of the stored samples: as runs of its own places, of which place i is the
// stored sample index(i). Nothing where index goes back and forth: its samples lie nowhere together. Pure.
std::optional<std::vector<Range>> chunks_of_places(std::span<const Range> chunks, std::int64_t places,
                                                   const std::function<std::int64_t(std::int64_t place)>& index);

}  // namespace ronde::data
