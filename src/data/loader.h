#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ronde/data/batch.h"
#include "ronde/data/order/batch_plan.h"
#include "ronde/data/pipeline/stage_stats.h"
#include "ronde/data/pipeline_options.h"
#include "ronde/data/source.h"

namespace ronde::data {

struct LoaderOptions {
  std::int64_t batch = 64;  // samples of all ranks together
  int rank = 0, ranks = 1;
  Position start = {};         // its seed is that of the order
  std::int64_t end_epoch = 1;  // the first epoch that is not read any more
  bool shuffle = true;         // false, for evaluation: in the order of the source
  std::int64_t window = 0;     // shuffle inside of so many chunks of the files (see ChunkOrder); 0: anything anywhere
  bool keep_short = true;      // an epoch's last batch counts even when it is short
  PipelineOptions pipeline = {};
};

// Gives this rank's part of one global batch after the other, prepared by threads of its own. Which samples a global
// batch holds, and what they look like, depends on (seed, epoch, position) alone, never on the number of ranks.
//
//   Loader loader(*source, {.batch = 256, .rank = rank, .ranks = size, .end_epoch = 90});
//   while (auto batch = loader.next()) train(batch->features(), batch->classes());
//
// One thread at a time may call it. It may go at any time, also while its threads are at work.
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
  std::vector<StageStats> stages() const;   // what each step has done so far
  std::int64_t skipped() const;             // samples that could not be read, and others took their place
  std::size_t peak_bytes() const;           // the most memory that samples and batches ever took
  std::chrono::nanoseconds waited() const;  // in next(), so far: the time that training has lost to its input

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace ronde::data
