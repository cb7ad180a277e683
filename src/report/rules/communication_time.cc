#include "ronde/report/rules/communication_time.h"

#include <algorithm>

#include "ronde/base/error.h"
#include "ronde/base/text/units.h"
#include "ronde/report/rules.h"
#include "ronde/report/run/numbers.h"
#include "ronde/report/run/speed.h"

namespace ronde::report::rules {

double transfer_seconds(const Evidence& evidence) {
  return std::max(0.0, evidence.efficiency.no_input_seconds - evidence.efficiency.ideal_seconds);
}

bool waits_for_transfer(const Evidence& evidence) {
  return evidence.steps.ranks.size() >= 2 && share(evidence, transfer_seconds(evidence)) >= kLeastGain;
}

double share(const Evidence& evidence, double seconds) {
  return evidence.efficiency.seconds > 0 ? seconds / evidence.efficiency.seconds : 0;
}

std::uint64_t bytes_setting(const Evidence& evidence, const std::string& key, std::uint64_t initial) {
  try {
    if (const auto text = setting(evidence.facts, key)) return parse_bytes(*text);
  } catch (const Error&) {  // of a file that somebody else wrote: as if it were not there
  }
  return initial;
}

// The rank that waits least for communication came last: its waits are those for the network.
std::optional<AdvicePlace> longest_wait(const Evidence& evidence) {
  const auto& ranks = evidence.steps.ranks;
  const auto least = std::ranges::min_element(ranks, {}, [](const RankSteps& rank) { return rank.all.exposed; });
  if (least == ranks.end()) return {};
  const auto traced = std::ranges::find(evidence.run.ranks, least->rank, &trace::RankTrace::rank);
  const auto place = static_cast<std::size_t>(traced - evidence.run.ranks.begin());
  const auto wait = longest(waits_of(evidence.run, *traced, evidence.window.ranks[place]).communication);
  return wait ? std::optional(place_of(evidence, place, *wait)) : std::nullopt;
}

double latency_of(const Evidence& evidence, double otherwise) {
  return evidence.comm && evidence.comm->latency_us > 0 ? evidence.comm->latency_us / 1e6 : otherwise;
}

double least_gain(const Evidence& evidence, double latency,
                  const std::function<double(std::size_t rank, std::size_t step)>& gain) {
  double sum = 0;
  for (std::size_t step = 0; step < evidence.steps.numbers.size(); ++step) {
    double least = -1;
    for (std::size_t rank = 0; rank < evidence.steps.ranks.size(); ++rank) {
      if (evidence.steps.ranks[rank].steps[step].total <= 0) continue;
      const double most = std::max(0.0, evidence.steps.ranks[rank].steps[step].exposed - latency);
      const double here = std::clamp(gain(rank, step), 0.0, most);
      least = least < 0 ? here : std::min(least, here);
    }
    sum += std::max(0.0, least);
  }
  return std::min(sum, transfer_seconds(evidence));
}

}  // namespace ronde::report::rules
