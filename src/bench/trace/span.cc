// What recording one event costs the thread that records it.
#include <filesystem>

#include <unistd.h>

#include "ronde/base/text/format.h"
#include "ronde/bench/benchmarks.h"
#include "ronde/trace/record/span_cost.h"

namespace ronde::bench {

Report run_span(const Options&) {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("ronde-span-{}.perfetto-trace", getpid());
  const trace::SpanCost cost = trace::measure_span_cost({.file = file});
  std::filesystem::remove(file);
  Report report{.name = "span"};
  report.rows.push_back({{"case", "span, recorded"}, {"median_us", cost.recording / 1e3}});
  report.rows.push_back({{"case", "span with two arguments, recorded"}, {"median_us", cost.two_args / 1e3}});
  report.rows.push_back({{"case", "counter, recorded"}, {"median_us", cost.counter / 1e3}});
  report.rows.push_back({{"case", "span, recording stopped"}, {"median_us", cost.stopped / 1e3}});
  report.rows.push_back({{"case", "span, no recorder"}, {"median_us", cost.no_recorder / 1e3}});
  return report;
}

}  // namespace ronde::bench
