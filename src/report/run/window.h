#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ronde/base/math/step_window.h"
#include "ronde/trace/file/run.h"

namespace ronde::report {

using trace::TimeRange;

// The part of a run that is judged: from the first step to the end of the last one and of what training threads did
// after it (evaluation, saving). Starting up is not in it. A run without steps counts as a whole.
struct Window {
  TimeRange time = {};                // of all ranks
  std::vector<TimeRange> ranks = {};  // of each, by place in Run::ranks; a rank may begin later or end earlier
  std::int64_t first_step = 0, last_step = 0;
  std::int64_t steps = 0;  // of the rank that has most; 0: none were recorded

  double seconds() const { return static_cast<double>(time.length()) / 1e9; }
};

// `steps` narrows it to some of them. FAILS WITH: BadInput when the run has none of these.
Window window_of(const trace::Run& run, const StepWindow& steps = {});

// A rank whose recording breaks off (a file that is cut, a process that was killed) would look as if it had little to
// do. So only steps count that were recorded as a whole by all, and a rank that has far fewer than the others is taken
// out of the run: whatever leaves more to judge. Returns which of the steps asked for are left; `problems` gets a
// sentence for what was left out.
StepWindow keep_whole_steps(trace::Run& run, StepWindow asked, std::vector<std::string>& problems);

// Sorted, and apart from one another.
using Ranges = std::vector<TimeRange>;

Ranges united(Ranges ranges);                           // in any order, overlapping or not
Ranges within(const Ranges& ranges, TimeRange bounds);  // what of them lies there
Ranges common(const Ranges& a, const Ranges& b);
Ranges without(const Ranges& a, const Ranges& b);
std::int64_t length(const Ranges& ranges);

// Where a lane's spans of these names are, as one set.
Ranges ranges_of(const trace::Run& run, const trace::Lane& lane, std::initializer_list<std::string_view> names);

// Where a training thread waited for input, and for other ranks; apart from one another. And for its device, which
// works for it meanwhile: that is no waiting of the rank.
struct Waits {
  Ranges input = {}, communication = {}, device = {};
};
Waits waits_of(const trace::Run& run, const trace::RankTrace& rank, TimeRange bounds);

}  // namespace ronde::report
