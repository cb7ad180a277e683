#pragma once

#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "ronde/base/system/mutex.h"
#include "ronde/data/pipeline/memory/budget.h"
#include "ronde/data/pipeline/run.h"
#include "ronde/data/pipeline/stack.h"
#include "ronde/data/pipeline/stage.h"

// Small steps between the stages of a pipeline, on the thread that asks.
namespace ronde::data {

// Where work is done on the thread that asks.
class InlineStream : public Stream {
 public:
  InlineStream(std::unique_ptr<Stream> from, Stage::Work work) : from_(std::move(from)), work_(std::move(work)) {}
  std::optional<Run> next() override {
    auto run = from_->next();
    if (run) work_(*run);
    return run;
  }

 private:
  const std::unique_ptr<Stream> from_;
  const Stage::Work work_;
};

// Counts the bytes of samples whose size nobody knew before they were there. It does not wait: what waits for room here
// may be what others wait for. So many samples at a time is their limit.
class Counted : public Stream {
 public:
  Counted(std::unique_ptr<Stream> from, Budget& budget) : from_(std::move(from)), budget_(budget) {}
  std::optional<Run> next() override {
    auto run = from_->next();
    if (!run || run->reservation.bytes() > 0) return run;
    std::size_t bytes = 0;
    for (const Item& item : run->items) bytes += item.sample.bytes();
    run->reservation = budget_.count(bytes);
    return run;
  }

 private:
  const std::unique_ptr<Stream> from_;
  Budget& budget_;
};

// What leaves those who gather, for stages that need no room for it.
class Passed : public Stream {
 public:
  explicit Passed(std::unique_ptr<Stream> from) : from_(std::move(from)) {}
  std::optional<Run> next() override {
    auto run = from_->next();
    if (run) run->place.pass();
    return run;
  }

 private:
  const std::unique_ptr<Stream> from_;
};

// Puts the runs of a batch together: what comes out are whole batches, with all their items.
class Collect : public Stream {
 public:
  explicit Collect(std::unique_ptr<Stream> from) : from_(std::move(from)) {}

  std::optional<Run> next() override {
    auto whole = from_->next();
    while (whole && !whole->closes) {
      auto more = from_->next();
      if (!more) return {};
      std::move(more->items.begin(), more->items.end(), std::back_inserter(whole->items));
      whole->closes = more->closes;
      whole->reservation.take(std::move(more->reservation));
    }
    return whole;
  }

 private:
  const std::unique_ptr<Stream> from_;
};

// A batch whose samples were written in place, as one item.
inline void seal(Run& run) {
  Item whole{.draw = {.epoch = run.group->facts.epoch}};
  whole.sample = as_sample(std::make_shared<const Batch>(std::move(*run.group->batch)));
  run.group->batch.reset();  // sealed once
  run.items.clear();
  run.items.push_back(std::move(whole));
}

class Sealed : public Stream {
 public:
  explicit Sealed(std::unique_ptr<Stream> from) : from_(std::move(from)) {}
  std::optional<Run> next() override {
    auto run = from_->next();
    if (run) seal(*run);
    return run;
  }

 private:
  const std::unique_ptr<Stream> from_;
};

// What a rank gets whose part of a batch is empty: the arrays of the batches before, without any sample.
class NoSamples {
 public:
  void remember(const Sample& batch) {
    const Lock lock(mutex_);
    if (known_.empty())
      for (const Sample::Named& named : batch.arrays()) {
        Shape shape = named.array.shape();
        shape.front() = 0;
        known_.set(named.name, Array(named.array.type(), std::move(shape)));
      }
  }
  Sample like_before() const {
    const Lock lock(mutex_);
    return known_;
  }

 private:
  mutable Mutex mutex_;
  Sample known_ RONDE_GUARDED_BY(mutex_);
};

}  // namespace ronde::data
