#include "ronde/report/rules/slow_ranks.h"

#include <algorithm>
#include <map>

#include "ronde/base/text/format.h"
#include "ronde/report/rules.h"
#include "ronde/report/run/numbers.h"
#include "ronde/report/run/speed.h"

namespace ronde::report::rules {
namespace {

constexpr double kNearlyAlways = 0.75;  // of the steps
constexpr double kSlowNode = 0.02;      // by which all ranks of a node take longer than the others' mean

// Fills in the numbers for these ranks against all others.
Slow measured(const Evidence& evidence, Slow slow) {
  const auto& ranks = evidence.steps.ranks;
  double gained = 0, worst = -1;
  std::vector<double> excess;
  for (std::size_t step = 0; step < evidence.steps.numbers.size(); ++step) {
    double most = 0, most_other = 0;
    std::size_t who = slow.places.front();
    std::vector<double> mine, theirs;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const double here = ranks[i].steps[step].work();
      (slow.has(i) ? mine : theirs).push_back(here);
      if (!slow.has(i)) most_other = std::max(most_other, here);
      if (slow.has(i) && here > most) most = here, who = i;
    }
    if (mean(theirs) > 0) excess.push_back(mean(mine) / mean(theirs) - 1);
    gained += std::max(0.0, most - most_other);
    if (most - most_other > worst) {
      worst = most - most_other;
      slow.worst = step;
      slow.example = who;
    }
  }
  slow.excess = median(std::move(excess));
  slow.gain = evidence.efficiency.seconds > 0 ? gained / evidence.efficiency.seconds : 0;
  return slow;
}

// A node all of whose ranks are slow, one of which has most work in nearly all steps.
std::optional<Slow> slow_node(const Evidence& evidence) {
  const StepTable& steps = evidence.steps;
  std::map<std::string, std::vector<std::size_t>> hosts;
  std::map<int, std::string> host_of;
  for (std::size_t i = 0; i < steps.ranks.size(); ++i) {
    hosts[steps.ranks[i].host].push_back(i);
    host_of[steps.ranks[i].rank] = steps.ranks[i].host;
  }
  if (hosts.size() < 2 || steps.slowest.empty()) return {};
  std::map<std::string, std::size_t> slowest;
  for (const int rank : steps.slowest) ++slowest[host_of[rank]];
  const auto most = std::ranges::max_element(slowest, {}, [](const auto& entry) { return entry.second; });
  Slow slow{.places = hosts[most->first], .who = most->first, .node = true};
  slow.share_of_steps = static_cast<double>(most->second) / static_cast<double>(steps.slowest.size());
  if (slow.places.size() < 2 || slow.share_of_steps < kNearlyAlways) return {};
  slow = measured(evidence, std::move(slow));
  double sum = 0, least = -1;
  for (std::size_t i = 0; i < steps.ranks.size(); ++i) {
    const double mine = steps.ranks[i].all.work();
    if (!slow.has(i))
      sum += mine;
    else if (least < 0 || mine < least)
      least = mine;
  }
  const double mean = sum / static_cast<double>(steps.ranks.size() - slow.places.size());
  return least > (1 + kSlowNode) * mean ? std::optional(slow) : std::nullopt;
}

}  // namespace

bool Slow::has(std::size_t place) const {
  return std::ranges::find(places, place) != places.end();
}

std::optional<Slow> find_slow(const Evidence& evidence) {
  if (evidence.steps.ranks.size() < 2) return {};
  if (auto node = slow_node(evidence)) return node;
  const SlowestRank& rank = evidence.steps.slow;
  const auto found = std::ranges::find(evidence.steps.ranks, rank.rank, &RankSteps::rank);
  if (rank.rank < 0 || found == evidence.steps.ranks.end()) return {};
  Slow slow{.places = {static_cast<std::size_t>(found - evidence.steps.ranks.begin())},
            .who = fmt::format("rank {} ({})", rank.rank, rank.host)};
  slow.share_of_steps = rank.share_of_steps;
  return measured(evidence, std::move(slow));
}

std::optional<AdvicePlace> place_of_step(const Evidence& evidence, std::size_t rank, std::size_t step) {
  const StepTable& steps = evidence.steps;
  const auto traced = std::ranges::find(evidence.run.ranks, steps.ranks[rank].rank, &trace::RankTrace::rank);
  std::optional<AdvicePlace> place;
  for (const trace::TracedStep& one : traced->steps)
    if (one.number == steps.numbers[step])
      place = place_of(evidence, static_cast<std::size_t>(traced - evidence.run.ranks.begin()), one.time);
  return place;
}

Advice advice_on(const Evidence& evidence, const Slow& slow) {
  Advice advice{.gain = slow.gain};
  advice.evidence = fmt::format(
      "{} takes {} longer for its work than the others, and has the most work in {} of the steps. If it were as fast "
      "as the slowest of the others, {} of {} would be saved.",
      slow.who, percent_text(slow.excess), percent_text(slow.share_of_steps),
      seconds_text(slow.gain * evidence.efficiency.seconds), seconds_text(evidence.efficiency.seconds));
  advice.because = fmt::format("{} is {} slower than the others", slow.who, percent_text(slow.excess));
  advice.at = place_of_step(evidence, slow.example, slow.worst);
  return advice;
}

std::string check_host(const Evidence& evidence, const Slow& slow) {
  return fmt::format(
      "Check {} for other programs, a throttled clock ('ronde run --check') or fewer cores than on other nodes{}",
      evidence.steps.ranks[slow.example].host,
      evidence.facts.nodes > 1 ? ". If the node is at fault, exclude it from the job." : ".");
}

}  // namespace ronde::report::rules
