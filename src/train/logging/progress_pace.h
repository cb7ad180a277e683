#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

namespace ronde::train {

// How training stands at a moment: sums since it began.
struct Milestone {
  std::chrono::nanoseconds at{0};            // of any clock that does not jump
  std::int64_t samples = 0;                  // of all ranks
  std::chrono::nanoseconds waited_input{0};  // of this rank, for batches
  std::chrono::nanoseconds waited_comm{0};   // of this rank, for other ranks
};

// What the milestones of the last seconds say.
struct Rates {
  double samples_per_second = 0;
  double input_share = 0, comm_share = 0;  // of the time, 0 to 1
};

// The rates between two milestones; zeros when no time has passed.
Rates rates_between(const Milestone& from, const Milestone& to);

// Keeps the milestones of the last `window`, so that the rate shown follows what happens now and yet does not flicker.
// Not thread-safe; no clock of its own.
class Pace {
 public:
  explicit Pace(std::chrono::nanoseconds window = std::chrono::seconds(10)) : window_(window) {}

  // REQUIRES: not before the one added last.
  void add(const Milestone& milestone);
  Rates rates() const;
  // Time for that many samples more; zero while nothing is known.
  std::chrono::nanoseconds time_for(std::int64_t samples) const;

 private:
  const std::chrono::nanoseconds window_;
  std::deque<Milestone> milestones_;  // some; the first at least a window old, or the start
};

}  // namespace ronde::train
