#include "ronde/trace/record/span_cost.h"

#include <algorithm>
#include <vector>

#include "ronde/trace/record/tick_clock.h"
#include "ronde/trace/span.h"

namespace ronde::trace {
namespace {

constexpr int kBatch = 4096;  // with two arguments 5 cells a piece: a third of a ring of 1 MiB

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The median over short batches, so that a batch during which the thread had to wait for a core does not count.
template <class Piece>
double ns_per_piece(Recorder& recorder, int batches, Piece&& piece) {
  std::vector<double> costs;
  for (int batch = 0; batch < std::max(batches, 1); ++batch) {
    const std::int64_t begin = detail::monotonic_ns();
    for (int i = 0; i < kBatch; ++i) piece(i);
    costs.push_back(static_cast<double>(detail::monotonic_ns() - begin) / kBatch);
    recorder.flush();
  }
  return median(std::move(costs));
}

void plain_span(int) {
  RONDE_SPAN("cost");
}

SpanCost measure_once(Recorder& recorder, int batches) {
  SpanCost cost;
  cost.no_recorder = ns_per_piece(recorder, batches, plain_span);
  const Scope scope(recorder, "measured");
  recorder.start();
  cost.recording = ns_per_piece(recorder, batches, plain_span);
  cost.two_args =
      ns_per_piece(recorder, batches, [](int i) { RONDE_SPAN("cost", "bench", {{"bucket", i}, {"bytes", 4096}}); });
  cost.counter = ns_per_piece(recorder, batches, [](int i) { counter("pieces", i); });
  recorder.stop();
  cost.stopped = ns_per_piece(recorder, batches, plain_span);
  return cost;
}

}  // namespace

SpanCost measure_span_cost(const SpanCostOptions& options) {
  Recorder recorder({.file = options.file, .host = "bench"});
  std::vector<SpanCost> costs;
  for (int i = 0; i < std::max(options.repetitions, 1); ++i) costs.push_back(measure_once(recorder, options.batches));
  if (const auto error = recorder.error()) throw *error;
  if (recorder.dropped() > 0)
    throw Error(Error::Kind::Bug, "the cost of a span was measured while events were dropped");

  const auto median_of = [&](double SpanCost::*part) {
    std::vector<double> values;
    for (const SpanCost& cost : costs) values.push_back(cost.*part);
    return median(std::move(values));
  };
  return {.recording = median_of(&SpanCost::recording),
          .two_args = median_of(&SpanCost::two_args),
          .stopped = median_of(&SpanCost::stopped),
          .no_recorder = median_of(&SpanCost::no_recorder),
          .counter = median_of(&SpanCost::counter)};
}

}  // namespace ronde::trace
