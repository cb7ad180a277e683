#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ronde/base/math/step_window.h"
#include "ronde/base/system/hardware.h"

namespace ronde::report {

struct AnalysisOptions {
  StepWindow steps = {};
  std::optional<MachineRates> rates = {};  // of the run's node, as the user says
  // By 'ronde bench roofline' on this machine: counts where the run had the same processor. What the trace itself
  // tells of its machine goes before it.
  std::optional<MachineRates> measured_here = {};
  std::string allreduce_json = {};  // what `ronde bench allreduce --json` printed on the run's ranks; empty: nothing
  std::string allreduce_file = {};  // where that came from, for words
  bool timeline = false;            // with the spans of some steps, for a page
  int threads = 0;                  // that read files; 0: one per core
  // That reading and analysis may take, about. Of runs that are longer, steps from the middle are looked at, and
  // "problems" says which. 0: any.
  std::uint64_t memory = std::uint64_t{1} << 30;
};

struct Report;  // ronde/report/report.h; text_report(), html_page() and to_json() show it

// All that `ronde report` tells about runs, as docs/report.md lists it. Of several runs, the one with most ranks (of
// two with as many, the later) is reported in full; all of them make "scaling", and two with as many ranks "compare".
// Reads one run after the other: two of them are in memory at a time.
// FAILS WITH: BadInput when a run cannot be read at all or has none of the steps.
std::shared_ptr<Report> analyse(const std::vector<std::filesystem::path>& sources, const AnalysisOptions& options);

}  // namespace ronde::report
