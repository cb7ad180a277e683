#pragma once

#include <cstdint>
#include <vector>

#include "ronde/report/run/window.h"
#include "ronde/trace/file/run.h"

// The run again with other costs: what its program would have done if waiting for the network, or for input, cost
// nothing. Pure.
//
// A training thread is pieces of work, which keep their length, and waits, whose length follows from what is waited
// for. A collective is complete on a rank when its last member has asked for it and the one before it in its group is
// complete there, plus the time that it took after that in the run. A wait for communication ends when all collectives
// that were asked for before and were complete at its end in the run are complete.
namespace ronde::report {

struct ReplayCosts {
  bool network = true;  // false: a collective is complete with its last member's asking
  bool input = true;    // false: input is always there
};

// When each rank of the run is through with the window, since the window's begin. With all costs on, it is what the
// run took.
struct Replayed {
  std::vector<std::int64_t> end_ns = {};  // by place in Run::ranks
  std::int64_t time_ns = 0;               // the latest
};

Replayed replay(const trace::Run& run, const Window& window, const ReplayCosts& costs);

}  // namespace ronde::report
