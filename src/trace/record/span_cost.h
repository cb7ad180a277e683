#pragma once

#include <filesystem>

namespace ronde::trace {

// What recording costs the thread that records, in nanoseconds a piece: medians over the repetitions, each a median
// over its batches.
struct SpanCost {
  double recording = 0;    // a span that is recorded, both times included
  double two_args = 0;     // the same with two arguments
  double stopped = 0;      // a span while recording is stopped
  double no_recorder = 0;  // a span on a thread without a Scope
  double counter = 0;      // a counter that is recorded
};

struct SpanCostOptions {
  std::filesystem::path file = {};  // the trace that the measurement writes; left in place
  int repetitions = 7;
  int batches = 8;  // of 4096 pieces; the writer catches up between them, untimed, so that none is dropped
};

// Takes a few hundredths of a second a repetition. FAILS WITH: System (the file), Bug (events were dropped after all).
SpanCost measure_span_cost(const SpanCostOptions& options);

}  // namespace ronde::trace
