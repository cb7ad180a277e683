#include <algorithm>
#include <string>
#include <vector>

#include "ronde/base/text/format.h"
#include "ronde/report/rules/entry.h"
#include "ronde/report/rules/slow_ranks.h"
#include "ronde/report/run/numbers.h"
#include "ronde/trace/fact_names.h"

// Slow ranks run at a lower clock than the others.
namespace ronde::report::rules {
namespace {

constexpr double kClockBelow = 0.05;  // that the clock of the slow ones is below the others'
constexpr double kClockFalls = 0.1;   // from the first quarter of a run to the last: it gets too hot

// Points of the counter "core clock" of a rank, in the window.
std::vector<double> clocks_of(const Evidence& evidence, int rank) {
  std::vector<double> values;
  const auto name = evidence.run.names.find(trace::counter_names::kCoreClock);
  const auto traced = std::ranges::find(evidence.run.ranks, rank, &trace::RankTrace::rank);
  if (!name || traced == evidence.run.ranks.end()) return values;
  for (const trace::CounterSeries& series : traced->counters)
    if (series.name == *name)
      for (const auto& point : series.points)
        if (point.time >= evidence.window.time.begin && point.time <= evidence.window.time.end)
          values.push_back(point.value);
  return values;
}

double mean_of_part(const std::vector<double>& values, std::size_t from, std::size_t count) {
  double sum = 0;
  for (std::size_t i = from; i < from + count; ++i) sum += values[i];
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

// While training, where that was recorded; otherwise as measured at the start. 0: not known.
double clock_of(const Evidence& evidence, int rank) {
  const std::vector<double> values = clocks_of(evidence, rank);
  if (!values.empty()) return mean(values);
  const auto found = evidence.facts.clock_ghz.find(rank);
  return found == evidence.facts.clock_ghz.end() ? 0 : found->second;
}

std::string falling_clock(const Evidence& evidence, int rank) {
  const std::vector<double> values = clocks_of(evidence, rank);
  const std::size_t quarter = values.size() / 4;
  if (quarter == 0) return "";
  const double first = mean_of_part(values, 0, quarter), last = mean_of_part(values, values.size() - quarter, quarter);
  if (last > (1 - kClockFalls) * first) return "";
  return fmt::format(" It falls from {:.2f} to {:.2f} GHz during the run: the processor is probably too hot.", first,
                     last);
}

std::optional<Advice> find(const Evidence& evidence) {
  const auto slow = find_slow(evidence);
  if (!slow) return {};
  std::vector<double> mine, theirs;
  for (std::size_t i = 0; i < evidence.steps.ranks.size(); ++i)
    if (const double clock = clock_of(evidence, evidence.steps.ranks[i].rank); clock > 0)
      (slow->has(i) ? mine : theirs).push_back(clock);
  const double low = median(mine), usual = median(theirs);
  if (low <= 0 || low > (1 - kClockBelow) * usual) return {};
  Advice advice = advice_on(evidence, *slow);
  advice.title = fmt::format("{} runs at a lower clock than the others", slow->node ? "One node" : "One rank's core");
  advice.evidence += fmt::format(" Its clock is {:.2f} GHz, but that of the others is {:.2f} GHz.{}", low, usual,
                                 falling_clock(evidence, evidence.steps.ranks[slow->example].rank));
  advice.change = fmt::format("Check the cooling, power limit and frequency governor of {}{}",
                              evidence.steps.ranks[slow->example].host,
                              evidence.facts.nodes > 1 ? ", or exclude it from the job." : ".");
  advice.because += fmt::format(" at a clock of {:.2f} instead of {:.2f} GHz", low, usual);
  return advice;
}

}  // namespace

RuleEntry clock_entry() {
  return {.name = "clock",
          .group = RuleGroup::Balance,
          .find = find,
          .replaces = {"uneven_batch", "slow_node", "slow_rank"}};
}

}  // namespace ronde::report::rules
