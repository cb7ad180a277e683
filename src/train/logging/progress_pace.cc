#include "ronde/train/logging/progress_pace.h"

#include <algorithm>
#include <cmath>

namespace ronde::train {
namespace {

constexpr int kKept = 100;  // milestones a window: more would say no more

}  // namespace

Rates rates_between(const Milestone& from, const Milestone& to) {
  const double time = std::chrono::duration<double>(to.at - from.at).count();
  if (time <= 0) return {};
  const auto share = [&](std::chrono::nanoseconds before, std::chrono::nanoseconds after) {
    return std::clamp(std::chrono::duration<double>(after - before).count() / time, 0.0, 1.0);
  };
  return {.samples_per_second = static_cast<double>(to.samples - from.samples) / time,
          .input_share = share(from.waited_input, to.waited_input),
          .comm_share = share(from.waited_comm, to.waited_comm)};
}

void Pace::add(const Milestone& milestone) {
  // The newest stands for now; it becomes one of those kept when it is far enough from the one before.
  const std::size_t count = milestones_.size();
  if (count >= 2 && milestones_[count - 1].at - milestones_[count - 2].at < window_ / kKept)
    milestones_.back() = milestone;
  else
    milestones_.push_back(milestone);
  while (milestones_.size() > 2 && milestone.at - milestones_[1].at >= window_) milestones_.pop_front();
}

Rates Pace::rates() const {
  return milestones_.empty() ? Rates{} : rates_between(milestones_.front(), milestones_.back());
}

std::chrono::nanoseconds Pace::time_for(std::int64_t samples) const {
  const double rate = rates().samples_per_second;
  constexpr double kMost = 1e17;  // about three years, in nanoseconds: no number of the clock overflows
  if (rate <= 0) return std::chrono::nanoseconds(0);
  return std::chrono::nanoseconds(std::llround(std::min(static_cast<double>(samples) / rate * 1e9, kMost)));
}

}  // namespace ronde::train
