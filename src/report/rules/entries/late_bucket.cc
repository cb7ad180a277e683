#include <algorithm>
#include <cstdint>

#include "ronde/base/text/format.h"
#include "ronde/base/text/units.h"
#include "ronde/report/rules.h"
#include "ronde/report/rules/communication_time.h"
#include "ronde/report/rules/entry.h"

// The first bucket of gradients is sent long after its first gradient is ready.
namespace ronde::report::rules {
namespace {

constexpr std::uint64_t kFirst = 1 << 20;  // the default of comm.first_bucket_bytes

std::optional<Advice> find(const Evidence& evidence) {
  if (!waits_for_transfer(evidence)) return {};
  const StepBuckets buckets(evidence.run, evidence.window, evidence.steps);
  const double won =
      least_gain(evidence, latency_of(evidence, buckets.latency_seconds()),
                 [&](std::size_t rank, std::size_t step) { return buckets.won_by_early_start(rank, step); });
  const auto first = static_cast<std::uint64_t>(buckets.median_first_bytes());
  if (won <= 0 || first == 0) return {};
  Advice advice{.title = "The first bucket of gradients is sent late"};
  advice.gain = share(evidence, won);
  advice.evidence = fmt::format(
      "The first bucket of a step ({}) is sent {} after its first gradient is ready. If it were sent at once, {} more "
      "of the communication would be hidden behind the backward pass.",
      format_bytes(first), seconds_text(buckets.median_delay()), seconds_text(won));
  const std::uint64_t better = first > kFirst ? kFirst : std::max<std::uint64_t>(1024, first / 4);
  advice.change = "Make the first bucket small, so that communication starts early";
  if (bytes_setting(evidence, "comm.fusion_bytes", kFusion) > kFusion)
    advice.change += ", and the others no larger than comm.fusion_bytes=64MiB";
  if (is_on(evidence.facts, "comm.deterministic") || is_on(evidence.facts, "train.deterministic"))
    advice.change += "; comm.deterministic orders tensors by name instead of readiness, which delays it further";
  advice.change += ".";
  advice.setting = fmt::format("comm.first_bucket_bytes={}KiB", better >> 10);
  if (better % (1 << 20) == 0) advice.setting = fmt::format("comm.first_bucket_bytes={}MiB", better >> 20);
  advice.at = longest_wait(evidence);
  advice.because = "the first bucket of gradients is sent late";
  return advice;
}

}  // namespace

RuleEntry late_bucket_entry() {
  return {.name = "late_bucket", .group = RuleGroup::Communication, .find = find, .explains = {"communication"}};
}

}  // namespace ronde::report::rules
