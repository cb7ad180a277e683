#include "ronde/base/text/format.h"
#include "ronde/report/rules.h"
#include "ronde/report/rules/arithmetic.h"
#include "ronde/report/rules/entry.h"
#include "ronde/report/run/speed.h"

// Layers are far below their roofs whatever they compute in.
namespace ronde::report::rules {
namespace {

std::optional<Advice> find(const Evidence& evidence) {
  const RankSteps* rank = with_most_work(evidence);
  const auto& computation = evidence.efficiency.computation;
  if (!evidence.roofline || !rank || !computation || computation->value >= kReachable) return {};
  Advice advice{.title = "The network computes far below what the machine allows"};
  advice.gain =
      arithmetic_seconds(evidence, *rank) / evidence.efficiency.seconds * (1 - computation->value / kReachable);
  advice.evidence = fmt::format("{} All that was measured reaches {} of its roofs; the gain is that of reaching {}.",
                                evidence.roofline->text, percent_text(computation->value), percent_text(kReachable));
  advice.change =
      "Give each layer more work per call: a larger batch per rank (the learning rate goes with it), or fewer ranks "
      "that share these cores.";
  if (!evidence.roofline->by_layer && !evidence.efficiency.device)
    advice.change += " trace.modules=true shows which layers are far from their roofs.";
  if (memory_for_twice(evidence)) advice.setting = twice_the_batch(evidence);
  advice.because =
      fmt::format("its layers compute at {} of what the machine allows: a larger batch is the first thing to try",
                  percent_text(computation->value));
  return advice;
}

}  // namespace

RuleEntry computation_entry() {
  return {.name = "computation", .group = RuleGroup::Compute, .find = find, .factor = "computation", .batch_times = 2};
}

}  // namespace ronde::report::rules
