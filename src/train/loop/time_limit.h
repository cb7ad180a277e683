#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ronde/train/options.h"

// When a training must have ended, and when it has to stop for that. All pure: time comes in.
namespace ronde::train {

// The earlier of train.deadline ("2h" from now, or seconds since 1970 UTC) and launch.deadline, as what is left of it;
// nothing: there is no hurry. FAILS WITH: BadInput for text that is no time, and for a time that is past.
std::optional<std::chrono::nanoseconds> time_left(const TrainingOptions& options,
                                                  std::chrono::system_clock::time_point now);

// What a training still has to do once it decides to stop.
struct TimeNeeds {
  std::chrono::nanoseconds step{0};        // a long one
  std::chrono::nanoseconds checkpoint{0};  // until it is safely written
  std::chrono::nanoseconds evaluation{0};  // that comes before the next chance to decide; zero: none does
};
// The decision travels with the totals of a step, which are known one step later; and the checkpoint that comes then
// may have to wait for one that is being written, or take longer than those before.
std::chrono::nanoseconds time_needed(const TimeNeeds& needs);

// Counts down. For rank 0, which decides for all.
class TimeLimit {
 public:
  using Time = std::chrono::nanoseconds;  // monotonic_now()

  TimeLimit() = default;  // never over
  TimeLimit(Time now, std::optional<std::chrono::nanoseconds> left) : before_(now) {
    if (left) end_ = now + *left;
  }

  void step_ended(Time now);
  void other_work_ended(Time now) { before_ = now; }  // an evaluation: no part of the next step

  bool over(Time now, TimeNeeds needs) const;  // needs.step is set to what has been seen
  std::optional<std::chrono::nanoseconds> left(Time now) const;
  std::chrono::nanoseconds longest_step() const { return longest_; }  // of the last ones

 private:
  std::optional<Time> end_ = {};
  Time before_{0};
  std::chrono::nanoseconds longest_{0};
};

}  // namespace ronde::train
