#pragma once

#include <cstddef>
#include <vector>

#include "ronde/comm/tune/tuning.h"

namespace ronde::comm::detail {

struct AutotuneOptions {
  Tuning defaults = {};
  std::size_t step_bytes = 0;  // that are reduced in a step: no bucket is larger
  std::size_t algorithms = 1;  // that the link has
};

// Looks for the tuning with which a step takes the least time, while the program trains. Decides only: it is told what
// each step took, and says how to run the next one.
//
// One knob after the other is tried on a coarse grid, from the best so far on: algorithm, size of buckets, size of the
// first one, and the size of buckets once more, finer. What makes the same buckets as something else is not tried
// again. A try is the median of several steps. The best two then race against the defaults, in turns. Whoever wins by
// at least 2 %, and in four of five turns, is chosen; otherwise the defaults stay. So chance may cost a gain, but
// hardly ever time.
class Autotune {
 public:
  explicit Autotune(const AutotuneOptions& options);

  // How to run the next step.
  const Tuning& current() const { return current_; }
  // What a step took that ran this way from beginning to end. True when current() has changed, or the search is over.
  bool step(double us);
  bool done() const { return phase_ == Phase::Done; }

  // When done: the winner is current().
  double chosen_us() const { return chosen_us_; }
  double default_us() const { return default_us_; }
  bool keeps_defaults() const { return current_ == options_.defaults; }
  std::size_t steps() const { return steps_; }  // so far

  // What was tried and what a step then took, in the order of trying; a race counts as one try each turn.
  struct Try {
    Tuning tuning;
    double us = 0;
  };
  const std::vector<Try>& tries() const { return tries_; }

 private:
  enum class Phase { Defaults, Algorithm, Fusion, First, Refine, Race, Done };

  std::vector<Tuning> candidates() const;
  bool same_buckets(const Tuning& a, const Tuning& b) const;
  const Try& best() const;
  void next_phase();
  void prepare_race();
  void decide();

  const AutotuneOptions options_;
  Phase phase_ = Phase::Defaults;
  Tuning current_;
  std::vector<Tuning> queue_;  // to be tried in this phase, the next one last
  std::vector<double> times_;  // of the try that is under way
  std::size_t wanted_;         // as many make a try
  std::vector<Try> tries_;
  std::vector<Tuning> racers_;                // the defaults first
  std::vector<std::vector<double>> results_;  // of the race, by racer and turn
  std::size_t steps_ = 0;
  double chosen_us_ = 0, default_us_ = 0;
};

}  // namespace ronde::comm::detail
