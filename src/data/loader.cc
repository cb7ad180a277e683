#include "ronde/data/loader.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/order/chunk_order.h"
#include "ronde/data/pipeline/bad_samples.h"
#include "ronde/data/pipeline/collect.h"
#include "ronde/data/pipeline/engine.h"
#include "ronde/data/pipeline/stored_work.h"

namespace ronde::data {
namespace {

constexpr std::size_t kRoomForAll = std::size_t{1} << 20;  // runs: it is batches and bytes that limit them

void check(const Source& source, const LoaderOptions& options) {
  if (options.batch < 1) throw Error::bad_input("batch size must be at least 1, got {}", options.batch);
  if (options.ranks < 1 || options.rank < 0 || options.rank >= options.ranks)
    throw Error::bad_input("rank {} is out of range for {} ranks", options.rank, options.ranks);
  if (options.start.epoch < 0 || options.start.position < 0 || options.start.position > source.size())
    throw Error::bad_input("'{}' with {} samples cannot continue from {}", source.name(), source.size(),
                           to_text(options.start));
  if (!options.keep_short && source.size() < options.batch)
    throw Error::bad_input("'{}' has {} samples, fewer than one batch of {}", source.name(), source.size(),
                           options.batch);
}

IndexView view_of(const Source& source, const LoaderOptions& options) {
  IndexView view = IndexView(source.size());
  if (source.stored()) view = view.mapped([&source](std::int64_t index) { return source.stored_index(index); });
  if (!options.shuffle) return view;
  if (options.window >= 1 && source.stored()) {  // also of a part of the samples, as data.split makes them
    auto chunks = chunks_of_places(source.stored()->records->chunks(), source.size(),
                                   [&source](std::int64_t place) { return source.stored_index(place); });
    if (chunks) return view.shuffled_chunks(*std::move(chunks), options.window, options.start.seed);
  }
  return view.shuffled(options.start.seed);
}

}  // namespace

struct Loader::Impl {
  Impl(const Source& from, LoaderOptions chosen)
      : source(from),
        options(std::move(chosen)),
        plan{.samples = source.size(), .batch = options.batch, .keep_short = options.keep_short},
        bad(options.pipeline.skip_bad, source.size(), options.pipeline.say),
        engine(options.pipeline) {
    begin();
    if (source.stored())
      add_stored();
    else
      engine.add_stage({.name = "make", .threads = 1, .room = kRoomForAll, .whole_batches = true},
                       [this](Run& run) { make(run); });
    engine.wrap([](auto last) { return std::make_unique<Collect>(std::move(last)); });
  }

  void begin() {
    const SampleKind kind = source.kind();
    const StoredParts* stored = source.stored();
    IssuerOptions issuing{.view = view_of(source, options), .kind = kind};
    issuing.draw_seed = stored ? stored->seed : 0;
    issuing.batches = plan;
    issuing.rank = options.rank;
    issuing.ranks = options.ranks;
    issuing.start = options.start;
    issuing.end_epoch = options.end_epoch;
    issuing.filled_once = source.filled_once();
    issuing.device = options.pipeline.device;
    std::size_t each = kind.bytes();
    if (stored) {  // what lies in files takes time by its size there, whatever it is made into
      issuing.bytes = [records = stored->records](std::int64_t index) { return records->bytes(index); };
      if (source.size() > 0) each = stored->records->bytes(source.stored_index(0));
    }
    const std::int64_t mine = share({0, std::min(options.batch, source.size())}, 0, options.ranks).size();
    issuing.length = run_length(each, mine, engine.threads());
    engine.begin(std::move(issuing));
  }

  void add_stored() {
    const StoredParts& stored = *source.stored();
    work = std::make_unique<StoredWork>(*stored.records, *engine.issuer(), bad, engine.scratch(), engine.stop());
    engine.add_stage({.name = "read", .waits = true, .room = read_room(engine.threads())},
                     [this](Run& run) { work->read(run); });
    engine.add_stage({.name = "decode", .threads = engine.threads(), .room = kRoomForAll, .whole_batches = true},
                     [this, decoder = stored.decoder](Run& run) { work->decode(*decoder, run); });
  }

  void make(Run& run) const {
    for (std::int64_t i = 0; i < run.size() && !engine.stop().stop_requested(); ++i) {
      const Draw& draw = run.items[static_cast<std::size_t>(i)].draw;
      source.read(draw.index, draw.epoch, run.group->batch->sample(run.slot + i));
    }
    run.reservation.release();
  }

  const Source& source;
  const LoaderOptions options;
  const BatchPlan plan;
  BadSamples bad;
  std::unique_ptr<StoredWork> work;
  std::exception_ptr failure;  // of whoever calls next()
  Engine engine;               // last: its threads use all of the above
};

Loader::Loader(const Source& source, LoaderOptions options)
    : impl_((check(source, options), std::make_unique<Impl>(source, std::move(options)))) {}

Loader::~Loader() = default;

std::optional<Batch> Loader::next() {
  if (impl_->failure) std::rethrow_exception(impl_->failure);
  try {
    auto run = impl_->engine.next();
    if (!run) return {};
    Batch batch = std::move(*run->group->batch);
    batch.mark_filled();
    for (std::int64_t i = 0; i < run->size(); ++i)
      if (run->items[static_cast<std::size_t>(i)].stands_in) batch.facts_.stand_ins.push_back(i);
    return batch;
  } catch (...) {
    impl_->failure = std::current_exception();
    throw;
  }
}

const BatchPlan& Loader::plan() const {
  return impl_->plan;
}

std::vector<StageStats> Loader::stages() const {
  return impl_->engine.stats();
}

std::int64_t Loader::skipped() const {
  return impl_->bad.count();
}

std::size_t Loader::peak_bytes() const {
  return impl_->engine.peak_bytes();
}

std::chrono::nanoseconds Loader::waited() const {
  return impl_->engine.waited();
}

}  // namespace ronde::data
