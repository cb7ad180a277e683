#include <algorithm>

#include "ronde/base/text/format.h"
#include "ronde/report/rules.h"
#include "ronde/report/rules/arithmetic.h"
#include "ronde/report/rules/entry.h"
#include "ronde/report/run/speed.h"

// f32 where bf16 is faster.
namespace ronde::report::rules {
namespace {

constexpr double kFasterType = 1.2;  // how much more a second bf16 must do to be worth the change

std::optional<Advice> find(const Evidence& evidence) {
  const RankSteps* rank = with_most_work(evidence);
  if (!evidence.rates || !rank || evidence.facts.precision != "f32") return {};
  const MachineRates& rates = *evidence.rates;
  const bool tf32 = rates.kind == Hardware::Kind::Gpu && !is_off(evidence.facts, "device.tf32");
  const double now = tf32 ? std::max(rates.f32, rates.tf32) : rates.f32;
  if (now <= 0 || rates.bf16 < kFasterType * now) return {};
  Advice advice{.title = "Training runs in f32 where bf16 is faster"};
  const double arithmetic = arithmetic_seconds(evidence, *rank);
  // What the layers are below their roofs is lost to something else, which another type does not change.
  const auto& computation = evidence.efficiency.computation;
  const double at_roof = computation ? std::min(computation->value, 1.0) : 1;
  advice.gain = arithmetic / evidence.efficiency.seconds * at_roof * (1 - now / rates.bf16);
  advice.evidence = fmt::format(
      "{}: {:.3g} TFLOP/s in bf16, {:.3g} in {}; forward and backward passes take {} of {} on rank {}{}. The gain is "
      "an "
      "upper bound: layers limited by memory gain less.",
      rates.name, rates.bf16, now, tf32 && rates.tf32 > rates.f32 ? "TF32" : "f32", seconds_text(arithmetic),
      seconds_text(evidence.efficiency.seconds), rank->rank,
      computation ? fmt::format(", and {} of that is what its arithmetic needs", percent_text(at_roof)) : "");
  advice.change = "Compute in bf16; weights and optimizer state stay in f32.";
  advice.setting = "train.precision=bf16";
  advice.because = "it computes in f32 where bf16 is faster";
  return advice;
}

}  // namespace

RuleEntry precision_entry() {
  return {.name = "precision", .group = RuleGroup::Compute, .find = find};
}

}  // namespace ronde::report::rules
