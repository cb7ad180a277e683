#include <algorithm>
#include <limits>
#include <set>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/report/run/window.h"

// Which steps, and which ranks, can be judged where recordings break off.
namespace ronde::report {
namespace {

using trace::RankTrace;
using trace::Run;

constexpr std::int64_t kEver = std::numeric_limits<std::int64_t>::max(), kNever = -1;

// The last step of which all was recorded.
std::int64_t last_whole_step(const RankTrace& rank) {
  if (rank.ended) return kEver;
  std::int64_t last = kNever;
  for (const trace::TracedStep& step : rank.steps)
    if (step.time.end < rank.time.end) last = std::max(last, step.number);
  return last;
}

// Ranks that have all steps up to `last`, times those steps: how much of the recording can be judged.
std::size_t judged(const std::vector<std::int64_t>& whole, const std::set<std::int64_t>& steps, std::int64_t last) {
  const auto ranks = std::ranges::count_if(whole, [&](std::int64_t until) { return until >= last; });
  return static_cast<std::size_t>(ranks) *
         static_cast<std::size_t>(std::distance(steps.begin(), steps.upper_bound(last)));
}

std::string left_out_text(const std::vector<std::string>& ranks) {
  return ranks.size() == 1
             ? fmt::format("rank {} is left out: its recording ends long before those of the others", ranks.front())
             : fmt::format("ranks {} are left out: their recordings end long before those of the others",
                           join(ranks, ", "));
}

}  // namespace

StepWindow keep_whole_steps(Run& run, StepWindow asked, std::vector<std::string>& problems) {
  std::set<std::int64_t> steps;
  std::vector<std::int64_t> whole;
  for (const RankTrace& rank : run.ranks) {
    whole.push_back(last_whole_step(rank));
    for (const trace::TracedStep& step : rank.steps)
      if (asked.contains(step.number) && step.number <= whole.back()) steps.insert(step.number);
  }
  if (steps.empty() || std::ranges::all_of(run.ranks, &RankTrace::ended)) return asked;
  std::int64_t last = *steps.rbegin();
  for (const std::int64_t until : whole)
    if (until < last && until >= *steps.begin() && judged(whole, steps, until) >= judged(whole, steps, last))
      last = until;
  std::vector<std::string> left_out;
  std::vector<RankTrace> kept;
  for (std::size_t i = 0; i < run.ranks.size(); ++i)
    if (whole[i] >= last)
      kept.push_back(std::move(run.ranks[i]));
    else
      left_out.push_back(std::to_string(run.ranks[i].rank));
  run.ranks = std::move(kept);
  if (!left_out.empty()) problems.push_back(left_out_text(left_out));
  if (std::ranges::all_of(run.ranks, &RankTrace::ended)) return asked;
  problems.push_back(fmt::format("steps up to {} are analysed, the last one that was recorded completely", last));
  asked.last = last;
  return asked;
}

}  // namespace ronde::report
