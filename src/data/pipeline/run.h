#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ronde/data/batch.h"
#include "ronde/data/picture/decoder.h"
#include "ronde/data/pipeline/gate.h"
#include "ronde/data/pipeline/memory/budget.h"
#include "ronde/data/sample.h"

namespace ronde::data {

// A sample on its way.
struct Item {
  std::int64_t position = 0;  // in the order of its epoch
  Draw draw = {};
  Sample sample = {};
  int done = 0;            // steps that need not be taken, since a cache has what comes out of them
  Gate::Place place = {};  // of what it holds, where samples come one after the other
  bool stands_in = false;  // for a sample of the same place that could not be read
};

// A place among the batches that may be in the making; it is given back when it goes. Only moves.
class BatchSlot {
 public:
  BatchSlot() = default;
  explicit BatchSlot(std::function<void()> back) : back_(std::move(back)) {}
  BatchSlot(BatchSlot&& other) noexcept : back_(std::exchange(other.back_, nullptr)) {}
  BatchSlot& operator=(BatchSlot&& other) noexcept {
    std::swap(back_, other.back_);
    return *this;
  }
  ~BatchSlot() {
    if (back_) back_();
  }

 private:
  std::function<void()> back_;
};

// A batch in the making.
struct Group {
  Batch::Facts facts = {};
  std::optional<Batch> batch = {};       // where samples are written in place; none: they are put together at the end
  Budget::Reservation reservation = {};  // of its memory
  BatchSlot slot = {};
};

// Samples that go through the pipeline together, so that handing them on costs little for each: consecutive ones, and
// of one batch where there are batches.
struct Run {
  std::shared_ptr<Group> group = {};
  std::int64_t slot = 0;  // place of the first item in its batch
  bool closes = false;    // no other run of its batch follows
  std::vector<Item> items = {};
  Budget::Reservation reservation = {};  // of what the items hold, or
  Gate::Place place = {};                // where samples come one after the other
  std::exception_ptr failure = nullptr;  // what became of the item after the last; there are no more runs then

  std::int64_t size() const { return static_cast<std::int64_t>(items.size()); }
};

// What comes out of a step of a pipeline, in order. One thread at a time may call it.
class Stream {
 public:
  virtual ~Stream() = default;
  // Waits. Nothing at the end, or when the pipeline is being stopped. FAILS WITH: what any step before failed with.
  virtual std::optional<Run> next() = 0;
  // Of the time in next(), what was spent on waiting for those after it rather than for those before.
  virtual std::chrono::nanoseconds waited_for_room() const { return {}; }
};

}  // namespace ronde::data
