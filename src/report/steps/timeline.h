#pragma once

#include <cstddef>
#include <string>
#include <vector>

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

struct TimelineSpan {
  std::size_t name = 0;  // of Timeline::names
  TimeRange time = {};
  int depth = 0;
};

struct TimelineLane {
  int rank = 0;
  std::string host = {}, name = {};
  trace::Lane::Kind kind = trace::Lane::Kind::Other;
  std::vector<TimelineSpan> spans = {};
};

struct Timeline {
  std::vector<TimelinePiece> pieces = {};
  std::vector<std::string> names = {};
  std::vector<TimelineLane> lanes = {};  // those that have spans in these pieces
  std::string left_out = {};             // a sentence; empty: nothing
};

// The spans of these pieces for the page, of all ranks or, when that is more than `most`, of the slowest rank and as
// many others as fit; of one rank that alone has more, the longest. `left_out` then tells.
Timeline timeline_of(const trace::Run& run, const StepTable& steps, std::vector<TimelinePiece> pieces,
                     std::size_t most = 50'000);

}  // namespace ronde::report
