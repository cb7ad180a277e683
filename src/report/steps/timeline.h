#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "ronde/report/run/window.h"
#include "ronde/report/steps/steps.h"
#include "ronde/trace/file/run.h"

namespace ronde::report {

// A piece of the run that a page shows span by span.
struct TimelinePiece {
  std::string title = {};    // "step 17, the slowest"
  std::int64_t number = -1;  // the step; -1: none
  TimeRange time = {};
};

// A typical step and the one after it, the slowest, and what is pointed at (`marked`, such as the places of advice).
// Apart from one another, in order.
std::vector<TimelinePiece> pieces_of(const trace::Run& run, const Window& window, const StepTable& steps,
                                     const std::vector<TimeRange>& marked);

// The spans of these pieces for the page, of all ranks or, when that is more than `most`, of the slowest rank and as
// many others as fit; of one rank that alone has more, the longest. "left_out" then tells. Times are seconds since the
// window's begin.
nlohmann::ordered_json timeline_json(const trace::Run& run, const Window& window, const StepTable& steps,
                                     const std::vector<TimelinePiece>& pieces, std::size_t most = 50'000);

}  // namespace ronde::report
