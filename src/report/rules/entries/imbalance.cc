#include "ronde/base/text/format.h"
#include "ronde/report/rules.h"
#include "ronde/report/rules/entry.h"
#include "ronde/report/rules/slow_ranks.h"

// In each step the others wait for the one with most work, whoever that is.
namespace ronde::report::rules {
namespace {

std::optional<Advice> find(const Evidence& evidence) {
  const StepTable& steps = evidence.steps;
  if (steps.ranks.size() < 2 || find_slow(evidence)) return {};
  double lost = 0, worst = -1;
  std::size_t worst_step = 0, worst_rank = 0;
  for (std::size_t step = 0; step < steps.numbers.size(); ++step) {
    double most = 0, sum = 0;
    std::size_t who = 0;
    for (std::size_t i = 0; i < steps.ranks.size(); ++i) {
      const double here = steps.ranks[i].steps[step].work();
      sum += here;
      if (here > most) most = here, who = i;
    }
    const double here = most - sum / static_cast<double>(steps.ranks.size());
    lost += here;
    if (here > worst) worst = here, worst_step = step, worst_rank = who;
  }
  if (evidence.efficiency.seconds <= 0 || lost / evidence.efficiency.seconds < kLeastNoise) return {};
  Advice advice{.title = "The work of ranks differs from step to step", .gain = lost / evidence.efficiency.seconds};
  advice.evidence = fmt::format(
      "In an average step the rank with the most work takes {} longer than the average rank, and it is not always the "
      "same rank. The worst is step {}, where rank {} takes {} longer.",
      seconds_text(lost / static_cast<double>(steps.numbers.size())), steps.numbers[worst_step],
      steps.ranks[worst_rank].rank, seconds_text(worst));
  advice.change =
      "If samples differ in size or length, put samples of similar size into one batch; otherwise check what else runs "
      "on the nodes. More samples per step even it out.";
  advice.setting = memory_for_twice(evidence) ? twice_the_batch(evidence) : "";
  advice.because = "the work of ranks differs from step to step, and all wait for the rank that has the most";
  advice.at = place_of_step(evidence, worst_rank, worst_step);
  return advice;
}

}  // namespace

RuleEntry imbalance_entry() {
  return {.name = "imbalance", .group = RuleGroup::Balance, .find = find};
}

}  // namespace ronde::report::rules
