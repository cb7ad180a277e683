#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/base/math/cost_fit.h"
#include "ronde/base/system/hardware.h"
#include "ronde/report/run/window.h"
#include "ronde/trace/file/run.h"

// How fast data moved between ranks, against what the same ranks can do. Pure.
namespace ronde::report {

// A collective as all its members saw it together: the entries of its group and sequence on all ranks.
//
// Its time begins with its last arrival: before that, ranks waited for a rank and not for the network. It begins when
// the one before it in its group is complete, if that is later: it stood in line. It ends when the last member has it.
// Where clocks of ranks were not brought together, it is the shortest time from a member's own arrival to its end,
// which is that of the member that came last.
struct MatchedCollective {
  std::uint32_t group = 0, name = 0;  // of Run::names
  std::uint64_t sequence = 0;
  double bytes = 0;          // of the values of the member that has most, as in `ronde bench allreduce`
  std::int64_t arrival = 0;  // the last one
  std::int64_t begin = 0;    // see above
  std::int64_t end = 0;
  int members = 0;  // that recorded it

  double seconds() const { return static_cast<double>(end - begin) / 1e9; }
};
// Those that end in the window, by group and sequence. Those that take no time (clocks are not exact) are left out.
std::vector<MatchedCollective> matched_collectives(const trace::Run& run, const Window& window);

// What an allreduce takes on these ranks when nothing else happens.
struct MeasuredAllreduce {
  int ranks = 0;
  std::vector<CostPoint> points = {};   // by size, each once; or
  double latency_us = 0, gb_per_s = 0;  // a line; 0: not known
  std::string where = {};               // "in FILE"

  bool known() const { return !points.empty() || gb_per_s > 0; }
  // Between points by the line that joins them; beyond the largest by its bandwidth. REQUIRES: known().
  double us(double bytes) const;
};
// `text`: what `ronde bench allreduce --json` printed; `where`: the file it came from, for words.
// FAILS WITH: BadInput that names the file and what is wrong with it.
MeasuredAllreduce parse_allreduce(std::string_view text, const std::string& where);
// What `ronde bench roofline` found.
MeasuredAllreduce measured_allreduce(const MachineRates& machine);

// All collectives of one name in one group.
struct CollectiveKind {
  std::string name = {}, group = {};
  std::int64_t count = 0;
  double bytes = 0;           // of all of them
  double seconds = 0;         // of all of them; they do not overlap
  double bandwidth_gb_s = 0;  // bytes / seconds, whatever the algorithm sends for them
  double measured_gb_s = 0;   // what these sizes reached when measured; 0: not known
};

// Their time as latency + bytes / bandwidth.
struct CollectiveFit {
  double latency_us = 0;
  double bandwidth_gb_s = 0;           // 0: sizes make no difference to the time
  double crossover_bytes = 0;          // below it, latency costs more than bandwidth; 0: bandwidth is not known
  double error = 0;                    // half of the points are off by less than this share
  std::vector<CostPoint> points = {};  // sizes put together by quarters of an octave: mean bytes, median time
};

struct Collectives {
  std::vector<CollectiveKind> kinds = {};  // most time first
  std::optional<CollectiveFit> fit = {};   // of allreduce in the group that spends most time in it
  std::string text = {};                   // one or two sentences
};

// None to compare with: MeasuredAllreduce{}.
Collectives collectives_of(const trace::Run& run, const Window& window, const MeasuredAllreduce& measured);

// None for fewer than two classes of sizes, or when the largest is not twice the smallest: noise would decide.
std::optional<CollectiveFit> fit_collectives(const std::vector<CostPoint>& points);

}  // namespace ronde::report
