#include <algorithm>

#include "ronde/base/text/format.h"
#include "ronde/report/rules.h"
#include "ronde/report/run/speed.h"

// The arithmetic itself could be faster.
namespace ronde::report::rules {
namespace {

constexpr double kFasterType = 1.2;    // how much more a second bf16 must do to be worth the change
constexpr double kPerStepShare = 0.2;  // of the run, that goes into what a step costs whatever its batch

const RankSteps* with_most_work(const Evidence& evidence) {
  const auto& ranks = evidence.steps.ranks;
  const auto most = std::ranges::max_element(ranks, {}, [](const RankSteps& rank) { return rank.all.work(); });
  return most == ranks.end() ? nullptr : &*most;
}

// Time in which the arithmetic of a training step is done: of the device, where there is one, else of the rank's
// thread.
double arithmetic_seconds(const Evidence& evidence, const RankSteps& rank) {
  const auto& device = evidence.efficiency.device;
  const Factor* balance = device ? device->find("device_load_balance") : nullptr;
  if (!balance || balance->value <= 0) return rank.all.compute;
  return device->value / balance->value * evidence.efficiency.seconds;
}

std::optional<Advice> for_precision(const Evidence& evidence) {
  const RankSteps* rank = with_most_work(evidence);
  if (!evidence.rates || !rank || evidence.facts.precision != "f32") return {};
  const MachineRates& rates = *evidence.rates;
  const bool tf32 = rates.kind == Hardware::Kind::Gpu && !is_off(evidence.facts, "device.tf32");
  const double now = tf32 ? std::max(rates.f32, rates.tf32) : rates.f32;
  if (now <= 0 || rates.bf16 < kFasterType * now) return {};
  Advice advice{.rule = "precision", .title = "Training runs in f32 where bf16 is faster"};
  const double arithmetic = arithmetic_seconds(evidence, *rank);
  advice.gain = arithmetic / evidence.efficiency.seconds * (1 - now / rates.bf16);
  advice.evidence = fmt::format(
      "{}: {:.3g} TFLOP/s in bf16, {:.3g} in {}; forward and backward passes take {} of {} on rank {}. The gain is an "
      "upper bound: layers limited by memory gain less.",
      rates.name, rates.bf16, now, tf32 && rates.tf32 > rates.f32 ? "TF32" : "f32", seconds_text(arithmetic),
      seconds_text(evidence.efficiency.seconds), rank->rank);
  advice.change = "Compute in bf16; weights and optimizer state stay in f32.";
  advice.setting = "train.precision=bf16";
  advice.because = "it computes in f32 where bf16 is faster";
  return advice;
}

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

std::optional<Advice> for_batch(const Evidence& evidence) {
  const PerStep cost = per_step_of(evidence);
  const double all = cost.optimizer + cost.idle_device, run = evidence.efficiency.seconds;
  if (evidence.facts.batch <= 0 || all < kPerStepShare * run || !memory_for_twice(evidence)) return {};
  Advice advice{.rule = "batch", .title = "The batch is too small for the device"};
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

// Layers are far below their roofs whatever they compute in.
std::optional<Advice> for_computation(const Evidence& evidence) {
  const RankSteps* rank = with_most_work(evidence);
  const auto& computation = evidence.efficiency.computation;
  if (!evidence.roofline || !rank || !computation || computation->value >= kReachable) return {};
  Advice advice{.rule = "computation", .title = "The network computes far below what the machine allows"};
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

std::vector<Advice> of_compute(const Evidence& evidence) {
  std::vector<Advice> all;
  if (evidence.efficiency.seconds <= 0) return all;
  if (auto advice = for_precision(evidence)) all.push_back(std::move(*advice));
  if (auto advice = for_batch(evidence)) all.push_back(std::move(*advice));
  if (auto advice = for_computation(evidence)) all.push_back(std::move(*advice));
  return all;
}

}  // namespace ronde::report::rules
