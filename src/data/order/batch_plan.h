#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ronde::data {

// Places from `begin` up to, but without, `end`.
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

// Where training stands in its data: everything that a checkpoint needs to know about it. It does not depend on the
// number of ranks, and `position` counts samples, so that training may go on with other ranks and another batch.
struct Position {
  std::int64_t epoch = 0;
  std::int64_t position = 0;  // samples of the epoch that have been used
  std::uint64_t seed = 0;     // of the order
  friend bool operator==(const Position&, const Position&) = default;
};

std::string to_text(const Position& position);  // "epoch=3 position=1280 seed=7"
// FAILS WITH: BadInput.
Position parse_position(std::string_view text);

// How an epoch is cut into global batches, the same for any number of ranks. Pure.
//
//   for (auto batch = plan.batch_at(0); batch.size() > 0; batch = plan.batch_at(batch.end))
//     mine = share(batch, rank, ranks);
struct BatchPlan {
  std::int64_t samples = 0;
  std::int64_t batch = 1;  // of all ranks together
  bool keep_short = true;  // a last batch of fewer samples counts too

  // The batch that begins after `position` samples of an epoch; empty when the epoch is over there.
  Range batch_at(std::int64_t position) const;
  // Of an epoch from its beginning.
  std::int64_t batches() const;
  // Which batch of its epoch begins there, counted from 0.
  std::int64_t index_of(std::int64_t position) const;
};

// The part of `rank`: consecutive, the parts in the order of the ranks. Of what does not divide, the first ranks get
// one more; a part may be empty.
// REQUIRES: 0 <= rank < ranks.
Range share(Range whole, int rank, int ranks);

}  // namespace ronde::data
