#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/report/rules/entry.h"
#include "ronde/report/rules/slow_ranks.h"
#include "ronde/report/run/speed.h"

// Ranks of one node get into each other's way.
namespace ronde::report::rules {
namespace {

constexpr std::size_t kLeastSteps = 4;  // to tell noise from work

// What each step's slowest rank takes longer than its own lower quartile: noise, which binding can take away. A rank
// that is always slow shows none. The first step warms up, and does not count.
double noise_share(const Evidence& evidence) {
  const StepTable& steps = evidence.steps;
  if (steps.numbers.size() <= kLeastSteps || evidence.efficiency.seconds <= 0) return 0;
  std::map<int, std::size_t> places;
  std::vector<double> quartile;
  for (std::size_t i = 0; i < steps.ranks.size(); ++i) {
    places[steps.ranks[i].rank] = i;
    std::vector<double> all;
    for (std::size_t step = 1; step < steps.numbers.size(); ++step)
      if (steps.ranks[i].steps[step].total > 0) all.push_back(steps.ranks[i].steps[step].work());
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 4);
    if (!all.empty()) std::ranges::nth_element(all, at);
    quartile.push_back(all.empty() ? 0 : *at);
  }
  double lost = 0;
  for (std::size_t step = 1; step < steps.numbers.size(); ++step) {
    const std::size_t who = places[steps.slowest[step]];
    lost += std::max(0.0, steps.ranks[who].steps[step].work() - quartile[who]);
  }
  return lost / evidence.efficiency.seconds;
}

// How many cpus "0-3,8" names; nothing where that is no such text.
std::optional<std::int64_t> cpus_in(const std::string& list) {
  std::int64_t count = 0;
  for (const std::string_view range : split(list, ',')) {
    const std::size_t dash = range.find('-');
    const auto first = parse_number<std::int64_t>(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number<std::int64_t>(range.substr(dash + 1));
    if (!first || !last || *last < *first) return {};
    count += *last - *first + 1;
  }
  return count;
}

// Ranks that may run on each other's cores although there are enough for all. Inside of a batch job's limits nobody may
// run anywhere: there it shows in that several have the same cpus.
std::vector<std::string> unbound_ranks(const Evidence& evidence) {
  std::map<std::pair<std::string, std::string>, std::vector<int>> sharers;  // by host and cpus
  for (const RankSteps& rank : evidence.steps.ranks)
    if (const auto found = evidence.facts.bound.find(rank.rank); found != evidence.facts.bound.end())
      sharers[{rank.host, found->second}].push_back(rank.rank);
  std::map<std::string, int> ranks_on;
  for (const RankSteps& rank : evidence.steps.ranks) ++ranks_on[rank.host];
  std::vector<int> unbound;
  for (const auto& [place, ranks] : sharers) {
    const auto& [host, cpus] = place;
    const int together = cpus.empty() ? ranks_on[host] : static_cast<int>(ranks.size());
    const std::int64_t cores = evidence.facts.cores > 0 ? evidence.facts.cores : together;
    if (together > 1 && together <= (cpus.empty() ? cores : cpus_in(cpus).value_or(0)))
      unbound.insert(unbound.end(), ranks.begin(), ranks.end());
  }
  std::ranges::sort(unbound);
  std::vector<std::string> names;
  for (const int rank : unbound) names.push_back(std::to_string(rank));
  return names;
}

std::optional<Advice> find(const Evidence& evidence) {
  std::vector<std::string> unbound = unbound_ranks(evidence);
  const double noise = noise_share(evidence);
  if (unbound.empty() || noise < kLeastNoise) return {};
  Advice advice{.title = "Ranks of one node are not bound to cores", .gain = noise};
  const std::size_t all = unbound.size();
  if (unbound.size() > 8) unbound.resize(8), unbound.emplace_back("...");
  advice.evidence = fmt::format(
      "{} share a node with other ranks and may run on the same cores ({} {}). In each step the slowest rank takes "
      "longer than in its own undisturbed steps (lower quartile): {} of the run in total.",
      counted(all, "rank"), all == 1 ? "rank" : "ranks", join(unbound, ", "), percent_text(advice.gain));
  advice.change =
      "Start ranks with 'ronde run', which binds them (--bind auto), or let the launcher bind them: srun "
      "--cpu-bind=cores, mpirun --bind-to core.";
  advice.because = "ranks of one node are not bound to cores and disturb each other";
  return advice;
}

}  // namespace

RuleEntry not_bound_entry() {
  return {.name = "not_bound",
          .group = RuleGroup::Balance,
          .find = find,
          .explains = {"imbalance"},  // threads that move make ranks slow by turns
          .needs_all_ranks = true};
}

}  // namespace ronde::report::rules
