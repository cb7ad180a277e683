#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "ronde/data/pipeline/run.h"
#include "ronde/data/steps.h"

namespace ronde::data {

// Steps that see one sample after the other, and may give more or fewer than they get. They run on the thread that
// asks, and wait for no bytes: who comes in has waited (gate.h).
class ItemStream {
 public:
  virtual ~ItemStream() = default;
  virtual std::optional<Item> next() = 0;
};
using Items = std::unique_ptr<ItemStream>;

// `gate`: where they came in, if they came in by one.
Items flatten(std::unique_ptr<Stream> runs, Gate* gate);
// Waits until there is room for each.
Items entered(Items from, Gate& gate, std::stop_token stop);
// Runs of one sample each, without batches.
std::unique_ptr<Stream> single_runs(Items items);

// Samples of a source that only gives one after the other; epochs from `epoch` on.
Items generated(std::function<NextSample(std::int64_t epoch)> restart, std::uint64_t seed, std::int64_t epoch,
                std::int64_t end_epoch);

Items filtered(Items from, std::function<bool(const Sample&)> keep);
// Of each epoch; after those of the last one, nothing more is asked for.
Items taken(Items from, std::int64_t samples, std::int64_t last_epoch);
Items skipped(Items from, std::int64_t samples);  // of each epoch
Items sharded(Items from, int rank, int ranks);
// Draws from the next `samples` samples of an epoch, by (seed, epoch).
Items shuffled(Items from, std::size_t samples, std::uint64_t seed);
// What `open` makes of a sample, with up to `cycle` of them open at a time, in turn.
using OpenInner = std::function<std::function<std::optional<Sample>()>(const Item& outer)>;
Items interleaved(Items from, OpenInner open, std::size_t cycle);
Items unbatched(std::unique_ptr<Stream> batches, Gate* gate);
// Leaves out the first samples of one epoch: those that have been used before.
Items without_first(Items from, std::int64_t epoch, std::int64_t samples);

// This rank's part of batches of `samples` samples of an epoch, ready to be stacked.
std::unique_ptr<Stream> batched(Items from, const steps::BatchUp& batch, Position start);

}  // namespace ronde::data
