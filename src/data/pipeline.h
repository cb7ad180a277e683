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
#include "ronde/data/sample.h"
#include "ronde/data/steps.h"

namespace ronde::data {

// A dataset at work: threads prepare samples, next() gives one after the other. One thread at a time may call it; it
// may go at any time.
class Pipeline {
 public:
  // As Dataset::open(). What is unwise about the steps, or about where the samples lie, goes to options.say.
  Pipeline(const Origin& origin, const std::vector<Step>& steps, PipelineOptions options,
           std::optional<Position> start = {});
  ~Pipeline();
  Pipeline(Pipeline&&) noexcept;
  Pipeline& operator=(Pipeline&&) noexcept;

  // Waits for the next sample, or batch; nothing when all epochs are over.
  // FAILS WITH: what the source or a step fails with; each time it is called from then on.
  std::optional<Sample> next();

  // The next batch, with its kind, its places in the epoch and where to go on after it, rather than as named arrays.
  // Its memory goes back when it goes, to be filled again; it may outlive the pipeline. A pipeline gives either samples
  // or batches.
  // FAILS WITH: as next(); BadInput unless a decoder fills the batches and no other steps follow them.
  std::optional<Batch> next_batch();

  // Where to go on when what next() gave last has been used. It does not depend on the number of ranks.
  Position position() const;
  std::int64_t epoch() const;  // of what next() gave last

  std::vector<StageStats> stages() const;
  std::int64_t skipped() const;
  std::size_t peak_bytes() const;
  std::chrono::nanoseconds waited() const;  // in next(), so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ronde::data
