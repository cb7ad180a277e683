#include "ronde/base/text/format.h"
#include "ronde/report/rules.h"
#include "ronde/report/rules/entry.h"
#include "ronde/report/rules/one_rank.h"

// Training stops while checkpoints are saved.
namespace ronde::report::rules {
namespace {

constexpr double kMostlyOneRank = 0.5;  // of the time that saving takes

std::optional<Advice> find(const Evidence& evidence) {
  const Phase* saving = evidence.phases.find(PhaseKind::Saving);
  if (!saving) return {};
  const double seconds = saving->seconds;
  const OneRank alone = alone_in(evidence, PhaseKind::Saving);
  Advice advice;
  if (alone.longest) advice = advice_on(evidence, alone);
  if (advice.evidence.empty())
    advice.evidence = fmt::format("Saving checkpoints takes {} of {}.", seconds_text(seconds),
                                  seconds_text(evidence.efficiency.seconds));
  advice.because = "training stops while checkpoints are saved";
  const double all = evidence.efficiency.seconds > 0 ? seconds / evidence.efficiency.seconds : 0;
  if (is_off(evidence.facts, "checkpoint.background")) {
    advice.title = "Training waits while checkpoints are written";
    advice.change = "Write checkpoints in the background.";
    advice.setting = "checkpoint.background=true";
    advice.gain = all;
  } else if (alone.seconds > kMostlyOneRank * seconds && !is_on(evidence.facts, "checkpoint.sharded")) {
    advice.title = "One rank saves checkpoints while the others wait";
    advice.change = "Let every rank write its share of a checkpoint.";
    advice.setting = "checkpoint.sharded=true";
    advice.gain = spread(evidence, alone.seconds);
  } else {
    advice.title = "Saving checkpoints takes much of the time";
    advice.change = "Save less often: auto balances the cost of a checkpoint against the cost of a failure.";
    advice.setting = "checkpoint.every=auto";
    advice.gain = all;
  }
  return advice;
}

}  // namespace

RuleEntry checkpoint_entry() {
  return {.name = "checkpoint",
          .group = RuleGroup::Phases,
          .find = find,
          .explains = {"imbalance"}};  // work of one rank that reaches into its step
}

}  // namespace ronde::report::rules
