#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/report/run/window.h"
#include "ronde/trace/file/run.h"

// What a run was at, one thing after the other: starting up, loading, training, testing, saving; and how much of it
// one rank did while all others had nothing to do. Pure.
namespace ronde::report {

enum class PhaseKind : std::uint8_t { StartUp, Loading, Training, Testing, Saving };
inline constexpr std::size_t kPhaseKinds = 5;
std::string_view name(PhaseKind kind);  // "start-up", "loading", "training", "testing", "saving"

// At every moment the run is in one phase: that of most of the ranks that are at work, and where none is, that of most
// ranks. So phases add up to the run, and one rank that tests while the others wait for it is testing.
struct Phase {
  PhaseKind kind = PhaseKind::Training;
  double seconds = 0;
  double share = 0;               // of all phases
  double ranks_busy = 0;          // mean number of ranks at work: not waiting, and not through
  double sequential_seconds = 0;  // of which one rank alone had something to do
};

// What one rank did while all others waited for communication or were through.
struct SequentialPart {
  std::string name = {};  // of the span that it was in: "evaluate"
  double seconds = 0;
  int rank = 0;
  PhaseKind phase = PhaseKind::Training;
  TimeRange longest = {};  // the longest piece of it
};

struct Sequential {
  double share = 0;  // of all phases
  // Amdahl: how many times faster than now the run would be if all else took no time. Infinite without such parts.
  double limit = 0;
  std::string text = {};                   // one sentence
  std::vector<SequentialPart> parts = {};  // the longest first
};

struct Phases {
  double seconds = 0;              // of all
  std::vector<Phase> phases = {};  // those that took any time, in the order of PhaseKind
  Sequential sequential = {};

  // Null: the run was never in it.
  const Phase* find(PhaseKind kind) const;
};

// A window that does not begin with the run's first step has no start-up.
//
// Pieces below a millisecond are not counted. Inside of steps, a rank that alone is at work is no sequential part but
// a matter of load balance, unless it is in a span that no other rank ever has.
Phases phases_of(const trace::Run& run, const Window& window);

}  // namespace ronde::report
