#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ronde/report/run/window.h"
#include "ronde/trace/file/run.h"

namespace ronde::report {

// Where a piece of a rank's time went. The first five add up to `total`; hidden communication runs beside them.
// Unions of intervals, never sums.
struct Shares {
  double total = 0;    // seconds
  double compute = 0;  // forward, backward and whatever else the training thread was at
  double optimizer = 0;
  double exposed = 0;  // the training thread waited for communication
  double input = 0;    // it waited for input
  double idle = 0;     // nothing was recorded
  double device = 0;   // of compute: the training thread waited for its device, which computed
  double hidden = 0;   // data moved while the training thread was at something else
  double moving = 0;   // data moved, hidden or not

  // As the efficiency tree counts useful time: all but waiting.
  double work() const { return total - exposed - input; }
  double overlap() const { return moving > 0 ? hidden / moving : 1; }
  Shares& operator+=(const Shares& other);
};

struct RankSteps {
  int rank = 0;
  std::string host = {};
  std::vector<Shares> steps = {};  // by place in StepTable::numbers; total 0: this rank did not record it
  Shares all = {};
};

struct SlowestRank {
  int rank = -1;  // -1: there is none to speak of
  std::string host = {};
  double share_of_steps = 0;  // in which it was the one with most work
  double excess = 0;          // in a usual step: its work over the mean of all ranks', less 1
  bool always = false;        // it is nearly always the same one
  std::string text = {};      // one sentence
};

struct StepTable {
  std::vector<std::int64_t> numbers = {};
  std::vector<RankSteps> ranks = {};
  std::vector<int> slowest = {};     // by place in numbers: the rank with most work: all but waiting
  std::vector<double> seconds = {};  // by place in numbers: the longest of all ranks
  double median_seconds = 0;         // of these
  SlowestRank slow = {};
};

StepTable steps_of(const trace::Run& run, const Window& window);

}  // namespace ronde::report
