#include "ronde/report/rules.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>

#include "ronde/base/format.h"
#include "ronde/base/units.h"
#include "ronde/report/numbers.h"

namespace ronde::report::rules {
namespace {

bool is_one_of(const std::optional<std::string>& text, std::initializer_list<std::string_view> words) {
  return text && std::ranges::find(words, *text) != words.end();
}

}  // namespace

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

int ranks_a_node(const Evidence& evidence) {
  std::map<std::string, int> ranks;
  for (const RankSteps& rank : evidence.steps.ranks) ++ranks[rank.host];
  int most = 1;
  for (const auto& [host, count] : ranks) most = std::max(most, count);
  return most;
}

std::optional<std::string> setting(const Evidence& evidence, const std::string& key) {
  const auto found = evidence.facts.settings.find(key);
  return found == evidence.facts.settings.end() ? std::nullopt : std::optional(found->second);
}

// As setting.cc reads them.
bool is_off(const Evidence& evidence, const std::string& key) {
  return is_one_of(setting(evidence, key), {"false", "off", "no", "0"});
}

bool is_on(const Evidence& evidence, const std::string& key) {
  return is_one_of(setting(evidence, key), {"true", "on", "yes", "1"});
}

bool memory_for_twice(const Evidence& evidence) {
  const JobFacts& facts = evidence.facts;
  return facts.memory_limit_bytes <= 0 || 2 * facts.memory_bytes <= facts.memory_limit_bytes;
}

std::string twice_the_batch(const Evidence& evidence) {
  return evidence.facts.batch > 0 ? fmt::format("train.batch={}", 2 * evidence.facts.batch) : std::string();
}

std::string percent(double share) {
  return fmt::format("{:.{}f} %", 100 * share, share > 0 && share < 0.1 ? 1 : 0);
}

std::string seconds_text(double seconds) {
  return format_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9 + 0.5)));
}

}  // namespace ronde::report::rules
