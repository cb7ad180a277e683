#include "ronde/data/order/chunk_order.h"

#include <algorithm>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/order/random.h"

namespace ronde::data {

ChunkOrder::ChunkOrder(std::vector<Range> chunks, std::int64_t window, std::uint64_t seed, std::int64_t epoch)
    : window_(window), seed_(seed), epoch_(epoch) {
  if (window < 1) throw Error::bad_input("data.window must be at least 1, got {}", window);
  std::erase_if(chunks, [](const Range& chunk) { return chunk.size() == 0; });
  const Order order(static_cast<std::int64_t>(chunks.size()), mix(seed + 1), epoch);
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < order.size(); ++i) {
    chunks_.push_back(chunks[static_cast<std::size_t>(order[i])]);
    begins_.push_back(begin);
    begin += chunks_.back().size();
  }
  begins_.push_back(begin);
}

std::int64_t ChunkOrder::window_of(std::int64_t position) const {
  const auto after = std::ranges::upper_bound(begins_.begin(), begins_.end() - 1, position);
  return (after - begins_.begin() - 1) / window_;
}

std::int64_t ChunkOrder::window_end(std::int64_t position) const {
  const auto last = std::min<std::int64_t>((window_of(position) + 1) * window_, std::ssize(chunks_));
  return begins_[static_cast<std::size_t>(last)];
}

std::vector<Range> ChunkOrder::window_at(std::int64_t position) const {
  const std::int64_t first = window_of(position) * window_;
  const std::int64_t last = std::min<std::int64_t>(first + window_, std::ssize(chunks_));
  return {chunks_.begin() + first, chunks_.begin() + last};
}

std::int64_t ChunkOrder::operator[](std::int64_t position) const {
  const std::int64_t window = window_of(position);
  const std::int64_t begin = begins_[static_cast<std::size_t>(window * window_)];
  // Each window is shuffled as if it were an epoch of its own.
  const Order inside(window_end(position) - begin, mix(seed_ ^ mix(static_cast<std::uint64_t>(window) + 1)), epoch_);
  const std::int64_t place = begin + inside[position - begin];
  const auto after = std::ranges::upper_bound(begins_.begin(), begins_.end() - 1, place);
  const auto chunk = static_cast<std::size_t>(after - begins_.begin() - 1);
  return chunks_[chunk].begin + (place - begins_[chunk]);
}

std::optional<std::vector<Range>> chunks_of_places(std::span<const Range> chunks, std::int64_t places,
                                                   const std::function<std::int64_t(std::int64_t place)>& index) {
  std::vector<Range> found;
  std::int64_t place = 0, last = -1;
  for (const Range& chunk : chunks) {
    const std::int64_t begin = place;
    for (; place < places; ++place) {
      const std::int64_t stored = index(place);
      if (stored <= last) return {};
      if (stored >= chunk.end) break;
      last = stored;
    }
    if (place > begin) found.push_back({begin, place});
  }
  if (place < places) return {};  // outside of all chunks
  return found;
}

}  // namespace ronde::data
