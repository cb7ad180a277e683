#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ronde/report/run/window.h"
#include "ronde/trace/file/run.h"

// Where the time of the window went, by call path. Pure. Time is linear in the spans, memory in the distinct paths.
namespace ronde::report {

// A call path: what was open, from the outside in. Seconds.
struct PathTime {
  std::string name = {};
  std::uint64_t visits = 0;             // of all ranks
  double inclusive = 0;                 // of all ranks together, with what is below it
  double exclusive = 0;                 // without
  std::vector<double> per_rank = {};    // inclusive, by place in Profile::ranks
  std::vector<PathTime> children = {};  // in the order in which they were first seen

  double min() const;  // over ranks; 0 on a rank that was never there
  double max() const;
  double mean() const;
};

// A root is the training thread, whose time is all of its rank's window, or a row of another kind, whose time is that
// of its spans: "input decode" (all threads of a stage), "checkpoint", "agree: world", "move: world", "gpu stream 7"
// (of each rank's device), and whatever else recorded.
//
// What would make a tree that nobody can look at is put together: a path that is deeper than 64 counts as the one at 64
// (a damaged file may lack ends of spans), and the 1000th and later names below one path are "(others)" (spans that are
// named after files).
struct Profile {
  std::string source = {};
  std::int64_t steps = 0;  // of the window
  std::vector<int> ranks = {};
  std::vector<PathTime> tree = {};
};

Profile profile_of(const trace::Run& run, const Window& window);

// A path in two runs, in seconds a step of the mean rank; where no steps were recorded, in seconds. 0 where a run does
// not have it.
struct ComparedPath {
  std::string path = {};                 // "training > forward > layer1"
  double first = 0, second = 0;          // inclusive
  double first_own = 0, second_own = 0;  // exclusive

  double difference() const { return second - first; }
};

struct Comparison {
  std::string first = {}, second = {};   // where they came from
  std::vector<ComparedPath> paths = {};  // what differs most comes first
};

Comparison compare(const Profile& first, const Profile& second);

}  // namespace ronde::report
