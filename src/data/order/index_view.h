#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "ronde/data/order/batch_plan.h"

namespace ronde::data {

// Which samples an epoch has, and in which order: a chain of shuffles, parts and shards of `samples` samples, by
// computation rather than by lists. A value; safe to read from any thread.
//
//   const IndexView view = IndexView(samples).shuffled(seed).shard(rank, ranks);
//   const auto order = view.epoch(3);
//   for (std::int64_t i = 0; i < view.size(); ++i) records.read(order(i));
class IndexView {
 public:
  using Lookup = std::function<std::int64_t(std::int64_t position)>;

  explicit IndexView(std::int64_t samples) : size_(samples) {}

  // Another permutation in every epoch.
  IndexView shuffled(std::uint64_t seed) const;
  // As ChunkOrder. REQUIRES: the chunks are all samples of this view, in order.
  IndexView shuffled_chunks(std::vector<Range> chunks, std::int64_t window, std::uint64_t seed) const;
  IndexView part(Range places) const;          // cut to what there is
  IndexView every(int rank, int ranks) const;  // places rank, rank + ranks ...
  IndexView chosen(std::vector<std::int64_t> places) const;
  IndexView mapped(Lookup place) const;  // what stands at a place is given by a function
  std::int64_t size() const { return size_; }

  // FAILS WITH: as Order and ChunkOrder.
  Lookup epoch(std::int64_t number) const;

 private:
  // Gives the order of an epoch as a function of the places of the view before.
  using Step = std::function<Lookup(std::int64_t epoch)>;
  IndexView with(Step step, std::int64_t size) const;

  std::int64_t size_;
  std::vector<Step> steps_;
};

}  // namespace ronde::data
