#include "ronde/report/steps/steps.h"

#include <algorithm>
#include <map>
#include <set>

#include "ronde/base/text/format.h"
#include "ronde/report/run/numbers.h"

namespace ronde::report {
namespace {

using trace::Lane;
using trace::RankTrace;
using trace::Run;
namespace names = trace::span_names;

// A rank's time as sets of ranges, from which any piece can be cut.
struct Activity {
  Ranges input = {}, exposed = {}, optimizer = {}, known = {}, moving = {}, device = {};
};

Ranges all_of(Ranges some, const Ranges& others) {
  some.insert(some.end(), others.begin(), others.end());
  return some;
}

Activity activity_of(const Run& run, const RankTrace& rank, TimeRange bounds) {
  Activity activity;
  const Waits waits = waits_of(run, rank, bounds);
  activity.input = waits.input;
  activity.exposed = waits.communication;
  activity.device = without(waits.device, united(all_of(waits.input, waits.communication)));
  if (const Lane* lane = rank.training()) {
    activity.optimizer = ranges_of(run, *lane, {names::kOptimizer});
    for (const trace::LaneSpan& span : lane->spans)
      if (span.parent == trace::LaneSpan::kNone) activity.known.push_back(span.time);
    activity.known = united(std::move(activity.known));
  }
  for (const trace::Collective& one : rank.collectives) activity.moving.push_back(one.time);
  activity.moving = united(std::move(activity.moving));
  return activity;
}

Shares shares_in(const Activity& activity, TimeRange bounds) {
  Shares shares{.total = seconds(bounds.length())};
  const Ranges input = within(activity.input, bounds), exposed = within(activity.exposed, bounds);
  const Ranges waits = united(all_of(input, exposed));
  const Ranges optimizer = without(within(activity.optimizer, bounds), waits);
  const Ranges known = without(within(activity.known, bounds), waits);
  const Ranges moving = within(activity.moving, bounds);
  shares.input = seconds(length(input));
  shares.exposed = seconds(length(exposed));
  shares.optimizer = seconds(length(optimizer));
  shares.compute = seconds(length(without(known, optimizer)));
  shares.idle = std::max(0.0, seconds(bounds.length() - length(waits) - length(known)));
  shares.device = seconds(length(without(within(activity.device, bounds), optimizer)));
  shares.moving = seconds(length(moving));
  shares.hidden = seconds(length(without(moving, exposed)));
  return shares;
}

constexpr double kWorthNaming = 0.02;  // more work than the mean
constexpr double kNearlyAlways = 0.75;

std::string slow_text(const SlowestRank& slow) {
  if (slow.rank >= 0)
    return fmt::format(
        "Rank {} on {} has the most work in {:.0f} % of the steps, {:.0f} % more than the average: its node is slow, "
        "or its share is larger.",
        slow.rank, slow.host, 100 * slow.share_of_steps, 100 * slow.excess);
  if (slow.always) return "No rank has much more work than the others.";
  return "The rank with the most work changes from step to step: this is noise or uneven samples, not a slow node.";
}

// In a usual step: what a rank does now and then, such as a test, is not what makes it slow.
double usual_excess(const StepTable& table, const RankSteps& rank) {
  std::vector<double> excess;
  for (std::size_t step = 0; step < table.numbers.size(); ++step) {
    std::vector<double> work;
    for (const RankSteps& each : table.ranks)
      if (each.steps[step].total > 0) work.push_back(each.steps[step].work());
    const double usual = mean(work);
    if (rank.steps[step].total > 0 && usual > 0) excess.push_back(rank.steps[step].work() / usual - 1);
  }
  return median(std::move(excess));
}

// The rank with most work in each step, and how often it is which.
SlowestRank slowest_of(const StepTable& table) {
  SlowestRank slow;
  if (table.ranks.size() < 2 || table.numbers.empty()) return slow;
  std::map<int, std::size_t> counts;
  for (const int rank : table.slowest) ++counts[rank];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  slow.share_of_steps = static_cast<double>(most->second) / static_cast<double>(table.slowest.size());
  slow.always = slow.share_of_steps >= kNearlyAlways;
  const auto found = std::ranges::find(table.ranks, most->first, &RankSteps::rank);
  slow.excess = usual_excess(table, *found);
  if (slow.always && slow.excess >= kWorthNaming) {
    slow.rank = most->first;
    slow.host = found->host;
  }
  slow.text = slow_text(slow);
  return slow;
}

}  // namespace

Shares& Shares::operator+=(const Shares& other) {
  total += other.total;
  compute += other.compute;
  optimizer += other.optimizer;
  exposed += other.exposed;
  input += other.input;
  idle += other.idle;
  device += other.device;
  hidden += other.hidden;
  moving += other.moving;
  return *this;
}

StepTable steps_of(const Run& run, const Window& window) {
  StepTable table;
  std::set<std::int64_t> numbers;
  for (std::size_t i = 0; i < run.ranks.size(); ++i)
    for (const trace::TracedStep& step : run.ranks[i].steps)
      if (step.time.begin >= window.ranks[i].begin && step.time.end <= window.ranks[i].end) numbers.insert(step.number);
  table.numbers.assign(numbers.begin(), numbers.end());
  table.seconds.assign(table.numbers.size(), 0);
  table.slowest.assign(table.numbers.size(), -1);
  std::vector<double> most(table.numbers.size(), -1);
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    const RankTrace& rank = run.ranks[i];
    const Activity activity = activity_of(run, rank, window.ranks[i]);
    RankSteps row{.rank = rank.rank, .host = rank.host};
    row.steps.resize(table.numbers.size());
    for (const trace::TracedStep& step : rank.steps) {
      const auto found = std::ranges::lower_bound(table.numbers, step.number);
      if (found == table.numbers.end() || *found != step.number) continue;
      const auto at = static_cast<std::size_t>(found - table.numbers.begin());
      const Shares shares = shares_in(activity, step.time);
      row.steps[at] = shares;
      row.all += shares;
      table.seconds[at] = std::max(table.seconds[at], shares.total);
      if (shares.work() > most[at]) {
        most[at] = shares.work();
        table.slowest[at] = rank.rank;
      }
    }
    table.ranks.push_back(std::move(row));
  }
  table.median_seconds = median(table.seconds);
  table.slow = slowest_of(table);
  return table;
}

}  // namespace ronde::report
