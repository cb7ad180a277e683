#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "ronde/data/batch.h"
#include "ronde/data/batch_plan.h"
#include "ronde/data/source.h"
#include "ronde/trace/recorder.h"

namespace ronde::data {

struct LoaderOptions {
  std::int64_t batch = 64;  // samples of all ranks together
  int rank = 0, ranks = 1;
  Position start = {};                  // its seed is that of the order
  std::int64_t end_epoch = 1;           // the first epoch that is not read any more
  bool shuffle = true;                  // false, for evaluation: in the order of the source
  bool keep_short = true;               // an epoch's last batch counts even when it is short
  std::size_t ahead = 2;                // batches that are prepared before they are asked for; 1 at least
  trace::Recorder* recorder = nullptr;  // gets a span "input" a batch; must outlive the loader
};

// Gives this rank's part of one global batch after the other, prepared by a thread of its own. Which samples a global
// batch holds, and what they look like, depends on (seed, epoch, position) alone, never on the number of ranks.
//
//   Loader loader(*source, {.batch = 256, .rank = rank, .ranks = size, .end_epoch = 90});
//   while (auto batch = loader.next()) train(batch->features(), batch->classes());
//
// One thread at a time may call it. It may go at any time, also while its thread is at work.
class Loader {
 public:
  // REQUIRES: `source` outlives the loader.
  // FAILS WITH: BadInput for a batch, rank or position that cannot be.
  Loader(const Source& source, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Waits for the next batch; nothing when all epochs are over.
  // FAILS WITH: what the source fails with; each time it is called from then on.
  std::optional<Batch> next();

  const BatchPlan& plan() const;
  std::chrono::nanoseconds waited() const;  // in next(), so far: the time that training has lost to its input

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace ronde::data
