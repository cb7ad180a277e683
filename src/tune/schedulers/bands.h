#pragma once

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ronde/tune/schedulers/scheduler.h"

namespace ronde::tune {

// The brackets of HyperBand (Li et al., arXiv 1603.06560) with Ray Tune's rules: brackets fill up one after the other;
// a trial that reaches its bracket's milestone pauses until all of the bracket are there, then the best 1/eta of them
// go on to the next milestone.
struct BandOptions {
  double longest = 81;
  double eta = 3;
  bool stop_last = true;
  bool largest_first = false;  // BOHB: the bracket with most halvings first, and trials pause in one that is not full
};

// FAILS WITH: BadInput for options that make no brackets.
BandOptions band_options(const SchedulerOptions& options, bool largest_first);

// One bracket. A plain value.
struct Bracket {
  std::size_t size = 0;     // how many trials it takes at first
  std::size_t nominal = 0;  // how many it should have now
  double milestone = 0;
  int halvings_left = 0;
  bool is_done = false;
  std::map<int, std::optional<double>> scores;  // of trials that live: what they had at this milestone
};

// n0 and r0 of bracket s, s halvings from the largest budget: what the paper's table has. For 81 by 3:
// (5, 81) (8, 27) (15, 9) (34, 3) (81, 1).
Bracket bracket_of(const BandOptions& options, int s);
int brackets_in_band(const BandOptions& options);

class Bands : public Scheduler {
 public:
  explicit Bands(const BandOptions& options) : options_(options) {}

  void on_add(int trial, Json& config) override;
  Decision on_report(const Report& report) override;
  void on_complete(const Report& last) override { on_lost(last.trial); }
  void on_lost(int trial) override;
  std::vector<std::pair<int, Decision>> others() override { return std::exchange(others_, {}); }
  std::optional<int> resume(std::span<const int> paused, bool all_added, int running) override;

 private:
  Bracket* find(int trial);
  void open_bracket();
  bool is_complete(const Bracket& bracket) const;
  // All of a bracket are at the milestone. Gives what happens to `reporting`; the others are told by others().
  Decision halve(Bracket& bracket, int reporting);

  BandOptions options_;
  std::vector<Bracket> brackets_;  // of all bands, in the order in which they fill
  std::size_t filling_ = 0;        // the one that takes new trials
  int next_ = 0;                   // which of its band comes next
  std::vector<std::pair<int, Decision>> others_;
  std::vector<int> ready_;  // paused trials that go on
  bool all_added_ = false;
};

}  // namespace ronde::tune
