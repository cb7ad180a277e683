#include "ronde/base/text/format.h"
#include "ronde/report/rules/entry.h"
#include "ronde/report/rules/one_rank.h"

// One rank does something else of its own while the others wait.
namespace ronde::report::rules {
namespace {

std::optional<Advice> find(const Evidence& evidence) {
  const OneRank work = alone_in(evidence, PhaseKind::Training);
  if (!work.longest) return {};
  Advice advice = advice_on(evidence, work);
  advice.title = "One rank works while the others wait";
  advice.change = "Divide this work among the ranks, or do it on a background thread.";
  advice.because = fmt::format("rank {} does '{}' alone while the others wait", work.longest->rank, work.longest->name);
  return advice;
}

}  // namespace

RuleEntry sequential_entry() {
  return {.name = "sequential",
          .group = RuleGroup::Phases,
          .find = find,
          .explains = {"imbalance"}};  // work of one rank that reaches into its step
}

}  // namespace ronde::report::rules
