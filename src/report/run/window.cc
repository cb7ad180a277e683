#include "ronde/report/run/window.h"

#include <algorithm>
#include <limits>

#include "ronde/base/error.h"

namespace ronde::report {
namespace {

using trace::Lane;
using trace::RankTrace;
using trace::Run;

constexpr TimeRange kNothing{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};

void extend(TimeRange& range, TimeRange by) {
  range.begin = std::min(range.begin, by.begin);
  range.end = std::max(range.end, by.end);
}

// What a training thread did after its last step belongs to the run; when only some steps are looked at, it does not.
TimeRange range_of(const RankTrace& rank, const StepWindow& steps, bool any_steps) {
  TimeRange range = kNothing;
  const Lane* training = rank.training();
  if (!any_steps) return training && !training->spans.empty() ? rank.time : kNothing;
  for (const trace::TracedStep& step : rank.steps)
    if (steps.contains(step.number)) extend(range, step.time);
  const bool all = !rank.steps.empty() && steps.contains(rank.steps.back().number);
  if (all && training && range.begin <= range.end)
    for (const trace::LaneSpan& span : training->spans) range.end = std::max(range.end, span.time.end);
  return range;
}

}  // namespace

Window window_of(const Run& run, const StepWindow& steps) {
  Window window{.time = kNothing};
  const bool any_steps = std::ranges::any_of(run.ranks, [](const RankTrace& rank) { return !rank.steps.empty(); });
  bool first = true;
  for (const RankTrace& rank : run.ranks) {
    const TimeRange range = range_of(rank, steps, any_steps);
    window.ranks.push_back(range.begin <= range.end ? range : TimeRange{});
    if (range.begin > range.end) continue;
    extend(window.time, range);
    std::int64_t count = 0;
    for (const trace::TracedStep& step : rank.steps) {
      if (!steps.contains(step.number)) continue;
      window.first_step = first ? step.number : std::min(window.first_step, step.number);
      window.last_step = first ? step.number : std::max(window.last_step, step.number);
      first = false;
      ++count;
    }
    window.steps = std::max(window.steps, count);
  }
  if (window.time.begin > window.time.end)
    throw Error::bad_input("'{}' contains no recorded time{}", run.source.string(),
                           any_steps              ? " in these steps"
                           : run.problems.empty() ? ": no training thread recorded anything"
                                                  : ": " + run.problems.front());
  return window;
}

Ranges united(Ranges ranges) {
  std::ranges::sort(ranges, {}, &TimeRange::begin);
  Ranges result;
  for (const TimeRange& range : ranges) {
    if (range.length() <= 0) continue;
    if (!result.empty() && range.begin <= result.back().end)
      result.back().end = std::max(result.back().end, range.end);
    else
      result.push_back(range);
  }
  return result;
}

Ranges within(const Ranges& ranges, TimeRange bounds) {
  Ranges result;
  const auto first = std::ranges::partition_point(ranges, [&](const TimeRange& r) { return r.end <= bounds.begin; });
  for (auto at = first; at != ranges.end() && at->begin < bounds.end; ++at)
    result.push_back({std::max(at->begin, bounds.begin), std::min(at->end, bounds.end)});
  return result;
}

Ranges common(const Ranges& a, const Ranges& b) {
  Ranges result;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    const TimeRange both{std::max(x->begin, y->begin), std::min(x->end, y->end)};
    if (both.length() > 0) result.push_back(both);
    x->end < y->end ? static_cast<void>(++x) : static_cast<void>(++y);
  }
  return result;
}

Ranges without(const Ranges& a, const Ranges& b) {
  Ranges result;
  auto y = b.begin();
  for (TimeRange left : a) {
    while (y != b.end() && y->end <= left.begin) ++y;
    for (auto cut = y; cut != b.end() && cut->begin < left.end; ++cut) {
      if (cut->begin > left.begin) result.push_back({left.begin, cut->begin});
      left.begin = std::max(left.begin, cut->end);
    }
    if (left.length() > 0) result.push_back(left);
  }
  return result;
}

std::int64_t length(const Ranges& ranges) {
  std::int64_t sum = 0;
  for (const TimeRange& range : ranges) sum += range.length();
  return sum;
}

Ranges ranges_of(const Run& run, const Lane& lane, std::initializer_list<std::string_view> names) {
  std::vector<std::uint32_t> wanted;
  for (const std::string_view name : names)
    if (const auto id = run.names.find(name)) wanted.push_back(*id);
  Ranges all;
  for (const trace::LaneSpan& span : lane.spans)
    if (std::ranges::find(wanted, span.name) != wanted.end()) all.push_back(span.time);
  return united(std::move(all));
}

// Input is fetched while nothing else is waited for; where the two overlap all the same, input is the outer cause.
Waits waits_of(const Run& run, const RankTrace& rank, TimeRange bounds) {
  const Lane* lane = rank.training();
  if (!lane) return {};
  Waits waits{.input = within(ranges_of(run, *lane, {trace::span_names::kWaitForInput}), bounds)};
  waits.communication =
      without(within(ranges_of(run, *lane, {trace::span_names::kWaitForCommunication}), bounds), waits.input);
  waits.device = within(ranges_of(run, *lane, {trace::span_names::kWaitForDevice}), bounds);
  return waits;
}

}  // namespace ronde::report
