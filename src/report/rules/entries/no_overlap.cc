#include <cstdint>
#include <map>

#include "ronde/base/text/format.h"
#include "ronde/report/rules.h"
#include "ronde/report/rules/communication_time.h"
#include "ronde/report/rules/entry.h"
#include "ronde/report/run/numbers.h"
#include "ronde/report/run/speed.h"

// Gradients are exchanged only after the backward pass.
namespace ronde::report::rules {
namespace {

std::optional<Advice> find(const Evidence& evidence) {
  if (!waits_for_transfer(evidence) || !is_off(evidence.facts, "train.overlap")) return {};
  const StepBuckets buckets(evidence.run, evidence.window, evidence.steps);
  std::vector<std::map<std::int64_t, double>> backward;  // by rank and number of the step
  for (const trace::RankTrace& rank : evidence.run.ranks) {
    auto& steps = backward.emplace_back();
    const trace::Lane* lane = rank.training();
    const Ranges all = lane ? ranges_of(evidence.run, *lane, {trace::span_names::kBackward}) : Ranges{};
    for (const trace::TracedStep& step : rank.steps) steps[step.number] = seconds(length(within(all, step.time)));
  }
  const double won =
      least_gain(evidence, latency_of(evidence, buckets.latency_seconds()),
                 [&](std::size_t rank, std::size_t step) { return backward[rank][evidence.steps.numbers[step]]; });
  Advice advice{.title = "Gradients are exchanged only after the backward pass"};
  advice.gain = share(evidence, won);
  advice.evidence = fmt::format("train.overlap is off; {} of communication could be hidden behind backward passes.",
                                seconds_text(won));
  advice.change = "Exchange gradients during the backward pass.";
  advice.setting = "train.overlap=true";
  advice.at = longest_wait(evidence);
  advice.because = "gradients are exchanged only after the backward pass";
  return advice;
}

}  // namespace

RuleEntry no_overlap_entry() {
  return {.name = "no_overlap",
          .group = RuleGroup::Communication,
          .find = find,
          // All buckets are late, and communication need not be faster if it can be hidden.
          .explains = {"late_bucket", "communication"}};
}

}  // namespace ronde::report::rules
