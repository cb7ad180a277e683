#include "ronde/report/run/recording.h"

#include <algorithm>
#include <vector>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/report/rules.h"

namespace ronde::report {
namespace {

constexpr std::size_t kNamedRanks = 4;

std::string cut_off_text(const std::vector<int>& ranks) {
  std::vector<std::string> named;
  for (const int rank : ranks)
    if (named.size() < kNamedRanks) named.push_back(std::to_string(rank));
  const std::size_t more = ranks.size() - named.size();
  return fmt::format("The recording{} of rank{} {}{} break{} off: the file is cut, or its process was killed.",
                     ranks.size() == 1 ? "" : "s", ranks.size() == 1 ? "" : "s", join(named, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "", ranks.size() == 1 ? "s" : "");
}

std::string few_steps_text(const trace::Run& run, std::int64_t steps) {
  std::size_t recorded = 0;
  for (const trace::RankTrace& rank : run.ranks) recorded = std::max(recorded, rank.steps.size());
  if (recorded >= static_cast<std::size_t>(kLeastSteps))
    return fmt::format("Only {} of {} recorded steps are in this report, at least {} are needed for a grade.", steps,
                       recorded, kLeastSteps);
  if (steps == 0) return fmt::format("No whole step was recorded, at least {} are needed for a grade.", kLeastSteps);
  return fmt::format("Only {} were recorded, at least {} are needed for a grade.",
                     counted(static_cast<std::size_t>(steps), "whole step"), kLeastSteps);
}

}  // namespace

std::string failure_text(const JobFacts& facts) {
  const Failure& failure = *facts.failure;
  const std::string when = failure.seconds > 0 ? "after " + rules::seconds_text(failure.seconds) : "as it began";
  return fmt::format("The run failed {}: {}.", when, failure.text);
}

std::string why_no_grade(const trace::Run& run, const Window& window, const JobFacts& facts) {
  if (facts.failure) return failure_text(facts);
  if (!facts.cut_off.empty()) return cut_off_text(facts.cut_off);
  return window.steps < kLeastSteps ? few_steps_text(run, window.steps) : "";
}

}  // namespace ronde::report
