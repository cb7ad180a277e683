#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "ronde/data/steps.h"

namespace ronde::data {

// The steps of a dataset, sorted by what they are about. Steps on the order of samples change places freely with steps
// that make one sample of one sample: so all of them come first, where they cost nothing, up to the first step that
// makes more or fewer samples.
struct StepPlan {
  std::vector<Step> order;  // select, shuffle, shuffle_chunks, split, take, skip, shard, of samples by index
  std::optional<steps::BatchUp> batch;  // those samples in batches
  std::vector<Step> order_of_batches;   // take and skip
  std::optional<steps::Shard> part;     // of each batch
  std::vector<Step> each;               // map (with functions or decoders), cache
  std::vector<Step> rest;               // from the first step on that makes more or fewer
  std::int64_t epochs = 1;              // max(): for ever
  std::optional<std::uint64_t> seed;    // of the order; nothing: it is never shuffled
  std::uint64_t draw_seed = 0;          // of what is drawn
  std::optional<std::size_t> ahead;     // batches; 0: as measured; nothing: there is no prefetch

  static constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();
};

// `by_index`: the source gives samples by index, rather than one after the other.
// FAILS WITH: BadInput for a step that cannot be where it is, saying where it can. Pure.
StepPlan make_plan(const std::vector<Step>& steps, bool by_index);

}  // namespace ronde::data
