#include "ronde/report/rules/entry.h"
#include "ronde/report/rules/slow_ranks.h"

// All ranks of one node are slow, and nothing tells why.
namespace ronde::report::rules {
namespace {

std::optional<Advice> find(const Evidence& evidence) {
  const auto slow = find_slow(evidence);
  if (!slow || !slow->node) return {};
  Advice advice = advice_on(evidence, *slow);
  advice.title = "One node is slower than the others";
  advice.change = check_host(evidence, *slow);
  return advice;
}

}  // namespace

RuleEntry slow_node_entry() {
  return {.name = "slow_node", .group = RuleGroup::Balance, .find = find};
}

}  // namespace ronde::report::rules
