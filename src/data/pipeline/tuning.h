#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "ronde/data/pipeline/stage_stats.h"

namespace ronde::data {

// What is known when a pipeline's threads are shared out anew.
struct TuningFacts {
  std::vector<StageStats> stages = {};    // what each has done lately; from the source to the consumer
  std::chrono::nanoseconds elapsed{0};    // lately
  std::chrono::nanoseconds starved{0};    // of that, the consumer waited
  std::chrono::nanoseconds full{0};       // of that, no batch could be begun: those ahead were not taken yet
  int threads = 1;                        // most for stages that compute, all together
  std::size_t ahead = 2, most_ahead = 2;  // batches prepared ahead: now, and as many as there is memory for
};

struct Tuning {
  std::vector<int> threads;  // of each stage
  std::size_t ahead = 2;
  friend bool operator==(const Tuning&, const Tuning&) = default;
};

// Threads for what computes are shared out by the time that a sample takes in each stage, 1 at least. A stage that
// waits for storage gets as many as keep those busy. Nothing is changed while the consumer does not wait. More batches
// are prepared ahead when the consumer waits although none could be begun at other times: then it is the unevenness
// that hurts. (A stage that waits for the next one, which is slower, says nothing of that kind.) Pure.
Tuning tune(const TuningFacts& facts);

}  // namespace ronde::data
