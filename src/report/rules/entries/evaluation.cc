#include "ronde/base/text/format.h"
#include "ronde/report/rules/entry.h"
#include "ronde/report/rules/one_rank.h"

// One rank evaluates while the others wait.
namespace ronde::report::rules {
namespace {

std::optional<Advice> find(const Evidence& evidence) {
  const OneRank testing = alone_in(evidence, PhaseKind::Testing);
  if (!testing.longest) return {};
  Advice advice = advice_on(evidence, testing);
  advice.title = "One rank evaluates while the others wait";
  advice.change = "Let every rank evaluate its share of the samples and add up the results, as 'ronde train' does.";
  advice.because = fmt::format("rank {} evaluates alone while the others wait", testing.longest->rank);
  return advice;
}

}  // namespace

RuleEntry evaluation_entry() {
  return {.name = "evaluation",
          .group = RuleGroup::Phases,
          .find = find,
          .explains = {"imbalance"}};  // work of one rank that reaches into its step
}

}  // namespace ronde::report::rules
