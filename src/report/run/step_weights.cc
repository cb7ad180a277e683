#include "ronde/report/run/step_weights.h"

#include <algorithm>
#include <iterator>

namespace ronde::report {

void StepWeights::add(std::int64_t step, std::uint64_t weight) {
  first_ = by_place_.empty() ? step : std::min(first_, step);
  last_ = by_place_.empty() ? step : std::max(last_, step);
  by_place_[step >> shift_] += weight;
  total_ += weight;
  while (by_place_.size() > most_) coarsen();
}

void StepWeights::add(const StepWeights& other) {
  if (other.by_place_.empty()) return;
  while (shift_ < other.shift_) coarsen();
  for (const auto& [place, weight] : other.by_place_) {
    // The place may begin before the first step that it holds, and end behind the last.
    add(std::clamp(place << other.shift_, other.first_, other.last_), weight);
  }
  add(other.last_, 0);
}

void StepWeights::coarsen() {
  ++shift_;
  std::map<std::int64_t, std::uint64_t> coarser;
  for (const auto& [place, weight] : by_place_) coarser[place >> 1] += weight;
  by_place_ = std::move(coarser);
}

std::optional<StepWindow> StepWeights::steps() const {
  if (by_place_.empty()) return {};
  return StepWindow{.first = first_, .last = last_};
}

std::optional<StepWindow> StepWeights::middle(std::uint64_t weight) const {
  if (by_place_.empty()) return {};
  auto begin = std::next(by_place_.begin(), static_cast<std::ptrdiff_t>(by_place_.size() / 2)), end = std::next(begin);
  std::uint64_t sum = begin->second;
  for (bool grown = true; grown;) {
    grown = false;
    if (end != by_place_.end() && sum + end->second <= weight) sum += end->second, ++end, grown = true;
    if (begin == by_place_.begin()) continue;
    if (const auto before = std::prev(begin); sum + before->second <= weight)
      sum += before->second, begin = before, grown = true;
  }
  StepWindow window{.first = std::max(first_, begin->first << shift_),
                    .last = std::min(last_, std::prev(end)->first << shift_ | ((std::int64_t{1} << shift_) - 1))};
  if (sum > weight) {  // one place alone is too much
    const double share = static_cast<double>(weight) / static_cast<double>(sum);
    const double steps = static_cast<double>(*window.last) - static_cast<double>(*window.first) + 1;
    window.last = *window.first + std::max<std::int64_t>(static_cast<std::int64_t>(share * steps), 1) - 1;
  }
  return window;
}

}  // namespace ronde::report
