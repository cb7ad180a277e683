#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ronde/report/compute/efficiency.h"
#include "ronde/report/steps/phases.h"

// Several runs of the same training with 1, 2, 4 ... ranks: what more ranks bring, and what is lost on the way. Pure.
namespace ronde::report {

// What scaling needs to know of a run. Speed, useful time and efficiency are of the same window.
struct RunSummary {
  std::string source = {};
  int ranks = 0;
  std::int64_t batch = 0;         // of all ranks; 0: not known
  double samples_per_second = 0;  // of all ranks, over the window
  double useful_seconds = 0;      // of all ranks together, for one sample
  Factor parallel = {};           // the tree of efficiency.h
  std::vector<Phase> phases = {};
  // What may explain that samples cost less or more than elsewhere; 0 or empty: not known.
  int threads = 0;                                  // of a rank
  double memory_bytes = 0, memory_limit_bytes = 0;  // of a rank
  double clock_ghz = 0;                             // mean over ranks
  std::string precision = {};
};

enum class ScalingKind { Strong, Weak, Mixed };
std::string_view name(ScalingKind kind);  // "strong", "weak", "mixed"

struct ScaledRun {
  RunSummary run = {};
  double speedup = 1;     // over the reference: the run with fewest ranks
  double efficiency = 1;  // speed-up over how many times as many ranks there are
  // Useful time of a sample in the reference over that in this run: below 1, the same work takes longer.
  double computation_scaling = 1;
  // global = parallel x computation scaling. Its ratio to that of the reference is the efficiency above.
  Factor global = {};
  // Karp and Flatt: the share of the reference's time that behaves as if it were sequential. None for the reference.
  std::optional<double> karp_flatt = {};
};

// Amdahl's law, fitted: a sample takes a + b / n on n times as many ranks as the reference has.
struct AmdahlFit {
  double serial_fraction = 0;                              // a / (a + b), 0 at least
  double limit = std::numeric_limits<double>::infinity();  // most speed-up over the reference, 1 / fraction
  std::string text = {};
};

struct Scaling {
  ScalingKind kind = ScalingKind::Mixed;
  std::string text = {};             // one or more sentences
  std::vector<ScaledRun> runs = {};  // by ranks
  std::string lost = {};         // key of the factor that costs most at scale; empty: none costs anything to speak of
  std::string superlinear = {};  // why a speed-up is more than linear; empty: none is
  std::optional<AmdahlFit> amdahl = {};  // strong scaling only
};

// None where all runs have the same number of ranks, or no speed is known.
// Strong scaling: all runs have the same batch. Weak: the same share of it on each rank. Otherwise mixed, and it says
// so: then a sample may cost more or less because of the batch.
std::optional<Scaling> scaling_of(std::vector<RunSummary> runs);

}  // namespace ronde::report
