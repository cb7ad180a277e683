#include "ronde/report/rules.h"

#include <algorithm>
#include <chrono>

#include "ronde/base/text/format.h"
#include "ronde/base/text/units.h"
#include "ronde/report/run/numbers.h"

namespace ronde::report::rules {

AdvicePlace place_of(const Evidence& evidence, std::size_t rank, TimeRange time) {
  const trace::RankTrace& traced = evidence.run.ranks[rank];
  const auto since = [&](std::int64_t at) { return seconds(at - evidence.window.time.begin); };
  AdvicePlace place{.rank = traced.rank, .begin = since(time.begin), .end = since(time.end)};
  for (const trace::TracedStep& step : traced.steps)
    if (step.time.begin <= time.begin && time.begin < step.time.end) place.step = step.number;
  return place;
}

std::optional<TimeRange> longest(const Ranges& ranges) {
  const auto found = std::ranges::max_element(ranges, {}, &TimeRange::length);
  return found == ranges.end() ? std::nullopt : std::optional(*found);
}

bool memory_for_twice(const Evidence& evidence) {
  const JobFacts& facts = evidence.facts;
  return facts.memory_limit_bytes <= 0 || 2 * facts.memory_bytes <= facts.memory_limit_bytes;
}

std::string twice_the_batch(const Evidence& evidence) {
  return evidence.facts.batch > 0 ? fmt::format("train.batch={}", 2 * evidence.facts.batch) : std::string();
}

std::string seconds_text(double seconds) {
  return format_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9 + 0.5)));
}

}  // namespace ronde::report::rules
