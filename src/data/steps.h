#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ronde/data/picture/decoder.h"
#include "ronde/data/records.h"
#include "ronde/data/sample.h"

namespace ronde::data {

class Dataset;

// The steps of a Dataset, as plain descriptions; the functions below make them. See dataset.h for how they are put
// together.
namespace steps {

struct Select {
  std::int64_t samples = 0;
  std::function<std::int64_t(std::int64_t place)> index;
};
struct RandomSeed {
  std::uint64_t seed = 0;
};
struct Shuffle {
  std::uint64_t seed = 0;
};
struct ShuffleChunks {
  std::uint64_t seed = 0;
  std::int64_t window = 16;
};
struct ShuffleBuffer {
  std::size_t samples = 1;
  std::uint64_t seed = 0;
};
struct Shard {
  int rank = 0, ranks = 1;
};
struct Take {
  std::int64_t samples = 0;
};
struct Skip {
  std::int64_t samples = 0;
};
struct Repeat {
  std::int64_t epochs = 0;  // 0: for ever
};
struct SplitOff {
  double from = 0, to = 100;  // percent
  std::uint64_t seed = 0;
};
enum class Last { Keep, Drop };
struct BatchUp {
  std::int64_t samples = 1;
  Last last = Last::Keep;
  bool pad = false;
  Shard part = {};  // of each batch
};
struct MapOptions {
  std::string name = "map";
  int threads = 0;      // 0: as measured
  bool ordered = true;  // false: what is ready first comes first; only without batches before it
  bool random = false;  // it draws, so its results are not to be cached
};
using SampleFunction = std::function<Sample(Sample, const Draw&)>;
struct Map {
  SampleFunction function;
  MapOptions options = {};
};
struct Decode {
  std::shared_ptr<const Decoder> decoder;
  MapOptions options = {};
};
struct MapBatch {
  std::function<Sample(Sample)> function;
  MapOptions options = {};
};
struct Filter {
  std::function<bool(const Sample&)> keep;
};
struct FlatMap {
  std::function<Dataset(const Sample&)> function;
};
struct Interleave {
  std::function<Dataset(const Sample&)> function;
  std::size_t cycle = 4;
};
struct Unbatch {};
struct Cache {
  std::filesystem::path folder = {};  // empty: in memory
  std::size_t bytes = 0;              // most that it takes; 0: half of the memory that is free
};
struct Prefetch {
  std::size_t batches = 0;  // 0: as measured
};
struct ToDevice {
  int device = 0;
};

}  // namespace steps

using Step = std::variant<steps::Select, steps::RandomSeed, steps::Shuffle, steps::ShuffleChunks, steps::ShuffleBuffer,
                          steps::Shard, steps::Take, steps::Skip, steps::Repeat, steps::SplitOff, steps::BatchUp,
                          steps::Map, steps::Decode, steps::MapBatch, steps::Filter, steps::FlatMap, steps::Interleave,
                          steps::Unbatch, steps::Cache, steps::Prefetch, steps::ToDevice>;
std::string_view name(const Step& step);  // "shuffle", as it is called below

using NextSample = std::function<std::optional<Sample>()>;  // nothing: no more
struct NestedOptions;  // what a pipeline leaves to datasets inside it: pipeline/build.h

// Where samples begin; one of the three is there.
struct Origin {
  std::string name = {};
  std::filesystem::path path = {};              // where they lie; empty: nowhere
  std::shared_ptr<const Records> records = {};  // by index
  // One after the other: begins an epoch.
  std::function<NextSample(std::int64_t epoch)> restart = {};
  // Or, of datasets inside: so does this, within the memory of the pipeline around them.
  std::function<NextSample(std::int64_t epoch, const NestedOptions& inside)> open = {};
  int inside = 0;  // how many they are
  // The records hold nothing: the first step, a decoder, makes each sample of its index alone.
  bool made = false;
};

// --- order
// `samples` of those that are stored: the one at a place is number `index(place)`. Comes first.
inline Step select(std::int64_t samples, std::function<std::int64_t(std::int64_t place)> index) {
  return steps::Select{samples, std::move(index)};
}
// Any sample may come anywhere, each exactly once an epoch, in another order every epoch. Takes no memory.
inline Step shuffle(std::uint64_t seed) {
  return steps::Shuffle{seed};
}
// For packs and for disks that dislike jumping; see ChunkOrder. After select and split it takes the chunks that they
// leave; where those go back and forth in the files, it is shuffle(seed).
inline Step shuffle_chunks(std::uint64_t seed, std::int64_t window = 16) {
  return steps::ShuffleChunks{seed, window};
}
// For streams: draws from the next `samples` samples.
inline Step shuffle_buffer(std::size_t samples, std::uint64_t seed) {
  return steps::ShuffleBuffer{samples, seed};
}
// Before batches: every ranks-th sample. After: this rank's part of each of them.
inline Step shard(int rank, int ranks) {
  return steps::Shard{rank, ranks};
}
inline Step take(std::int64_t samples) {
  return steps::Take{samples};
}
inline Step skip(std::int64_t samples) {
  return steps::Skip{samples};
}
inline Step repeat(std::int64_t epochs = 0) {
  return steps::Repeat{epochs};
}
// Samples whose key falls between `from` and `to` percent: 0 to 80 to train on, 80 to 90, 90 to 100. Which ones does
// not change when others are added.
inline Step split(double from, double to, std::uint64_t seed = 0) {
  return steps::SplitOff{from, to, seed};
}

// --- samples
// What steps on samples draw depends on this seed, rather than on that of the order.
inline Step random_seed(std::uint64_t seed) {
  return steps::RandomSeed{seed};
}
struct Wrap {  // takes functions with and without a Draw
  template <class F>
  static steps::SampleFunction sample(F function) {
    if constexpr (std::invocable<F, Sample, const Draw&>)
      return function;
    else
      return [function = std::move(function)](Sample sample, const Draw&) { return function(std::move(sample)); };
  }
};
// `function` makes a sample of a sample: Sample(Sample), or Sample(Sample, const Draw&) when it draws numbers. Called
// from several threads. Steps after batches apply to each of their samples, too.
template <class F>
  requires std::invocable<F, Sample> || std::invocable<F, Sample, const Draw&>
Step map(F function, steps::MapOptions options = {}) {
  return steps::Map{Wrap::sample(std::move(function)), std::move(options)};
}
// Pictures to numbers, straight into the memory of a batch: picture_decoder.h makes decoders.
inline Step map(std::shared_ptr<const Decoder> decoder, steps::MapOptions options = {.name = "decode"}) {
  return steps::Decode{std::move(decoder), std::move(options)};
}
inline Step filter(std::function<bool(const Sample&)> keep) {
  return steps::Filter{std::move(keep)};
}
// All samples of the dataset that `function` makes of each sample, one dataset after the other.
inline Step flat_map(std::function<Dataset(const Sample&)> function) {
  return steps::FlatMap{std::move(function)};
}
// The same, with `cycle` datasets open at a time, which give a sample in turn.
inline Step interleave(std::function<Dataset(const Sample&)> function, std::size_t cycle = 4) {
  return steps::Interleave{std::move(function), cycle};
}
// Keeps samples as they are here, and reads no more of them from then on. In memory, or in a folder of a local disk
// that the ranks of a node share. What does not fit is not kept; nothing is ever thrown out.
inline Step cache(std::filesystem::path folder = {}, std::size_t bytes = 0) {
  return steps::Cache{std::move(folder), bytes};
}

// --- batches
// Samples are stacked: an array f32[3,4] becomes f32[n,3,4]. `pad`: arrays of different lengths are filled up with
// zeros.
inline Step batch(std::int64_t samples, steps::Last last = steps::Last::Keep, bool pad = false) {
  return steps::BatchUp{samples, last, pad};
}
// The same, by the name that says what it is when shard() follows: batches of all ranks together.
inline Step global_batch(std::int64_t samples, steps::Last last = steps::Last::Keep) {
  return batch(samples, last);
}
// Once for a batch rather than for each of its samples.
inline Step map_batch(std::function<Sample(Sample)> function, steps::MapOptions options = {}) {
  return steps::MapBatch{std::move(function), std::move(options)};
}
inline Step unbatch() {
  return steps::Unbatch{};
}
// Prepares batches while others are being used. Should come last.
inline Step prefetch(std::size_t batches = 0) {
  return steps::Prefetch{batches};
}
// Copies batches to a GPU, by a stream of its own, one ahead. device::kHost: leaves them where they are.
inline Step to_device(int device) {
  return steps::ToDevice{device};
}

}  // namespace ronde::data
