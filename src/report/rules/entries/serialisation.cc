#include <algorithm>

#include "ronde/base/text/format.h"
#include "ronde/report/rules.h"
#include "ronde/report/rules/communication_time.h"
#include "ronde/report/rules/entry.h"

// What of the waits for one another nothing else explains.
namespace ronde::report::rules {
namespace {

constexpr double kLeastSerialisation = 0.05;  // that nothing else explains

// On an ideal network, with input at hand.
bool makes_ranks_wait(RuleGroup group) {
  return group == RuleGroup::Balance || group == RuleGroup::Phases;
}

std::optional<Advice> find_after(const Evidence& evidence, const std::vector<Advice>& found) {
  const Efficiency& efficiency = evidence.efficiency;
  if (efficiency.useful_seconds.size() < 2 || efficiency.seconds <= 0) return {};
  double left = share(evidence, efficiency.ideal_seconds - *std::ranges::max_element(efficiency.useful_seconds));
  for (const Advice& other : found)
    if (makes_ranks_wait(find_rule(other.rule).group)) left -= other.gain;
  if (left < kLeastSerialisation) return {};
  Advice advice{.title = "Ranks take turns in waiting for one another", .gain = left};
  advice.evidence = fmt::format(
      "Even on an ideal network the run would take {}, although no rank has more than {} of work: different ranks are "
      "the last at different times.",
      seconds_text(efficiency.ideal_seconds), seconds_text(*std::ranges::max_element(efficiency.useful_seconds)));
  if (setting(evidence.facts, "model.norm").value_or("batch") == "sync") {
    advice.change = "Synchronized batch norms make ranks wait for one another in every layer: use local ones.";
    advice.setting = "model.norm=batch";
  } else {
    advice.change = "Look at the longest waits in the timeline to see what the ranks wait for.";
  }
  advice.at = longest_wait(evidence);
  advice.because = "ranks take turns in waiting for one another";
  return advice;
}

}  // namespace

RuleEntry serialisation_entry() {
  return {.name = "serialisation", .group = RuleGroup::Communication, .find_after = find_after};
}

}  // namespace ronde::report::rules
