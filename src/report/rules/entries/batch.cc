#include <algorithm>

#include "ronde/base/text/format.h"
#include "ronde/report/rules.h"
#include "ronde/report/rules/entry.h"

// What a step costs whatever its batch takes much of the time.
namespace ronde::report::rules {
namespace {

constexpr double kPerStepShare = 0.2;  // of the run, that goes into what a step costs whatever its batch

// Of a rank on average: the optimizer, and a device that has nothing to do although nothing is waited for.
struct PerStep {
  double optimizer = 0, idle_device = 0;
};

PerStep per_step_of(const Evidence& evidence) {
  PerStep cost;
  double waits = 0;
  for (const RankSteps& rank : evidence.steps.ranks) {
    cost.optimizer += rank.all.optimizer / static_cast<double>(evidence.steps.ranks.size());
    waits += (rank.all.input + rank.all.exposed) / static_cast<double>(evidence.steps.ranks.size());
  }
  const Factor* busy = evidence.efficiency.device ? evidence.efficiency.device->find("orchestration") : nullptr;
  if (busy) {
    cost.idle_device = std::max(0.0, (1 - busy->value) * evidence.efficiency.seconds - waits);
    cost.optimizer = 0;  // runs on the device too: its launches are in what is idle
  }
  return cost;
}

std::optional<Advice> find(const Evidence& evidence) {
  if (evidence.efficiency.seconds <= 0) return {};
  const PerStep cost = per_step_of(evidence);
  const double all = cost.optimizer + cost.idle_device, run = evidence.efficiency.seconds;
  if (evidence.facts.batch <= 0 || all < kPerStepShare * run || !memory_for_twice(evidence)) return {};
  Advice advice{.title = "The batch is too small for the device"};
  advice.gain = all / run / 2;
  advice.evidence = cost.idle_device > 0
                        ? fmt::format(
                              "The device is idle for {} of {} although the program waits for nothing: launching the "
                              "kernels takes longer than running them.",
                              seconds_text(cost.idle_device), seconds_text(run))
                        : fmt::format("The optimizer takes {} of {}, and its time does not depend on the batch.",
                                      seconds_text(cost.optimizer), seconds_text(run));
  advice.evidence += " With twice the batch, its cost per sample is halved.";
  advice.change = fmt::format(
      "Train with a larger batch than {}; adapt the learning rate (optimizer.lr_scaling) and check the accuracy.",
      evidence.facts.batch);
  advice.setting = twice_the_batch(evidence);
  advice.because = "the batch is too small for the device";
  return advice;
}

}  // namespace

RuleEntry batch_entry() {
  return {.name = "batch",
          .group = RuleGroup::Compute,
          .find = find,
          .explains = {"computation"},  // kernels are too short
          .batch_times = 2};
}

}  // namespace ronde::report::rules
