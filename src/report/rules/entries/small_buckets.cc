#include <algorithm>
#include <cmath>

#include "ronde/base/text/format.h"
#include "ronde/base/text/units.h"
#include "ronde/report/rules.h"
#include "ronde/report/rules/communication_time.h"
#include "ronde/report/rules/entry.h"

// Gradients are sent in many small buckets.
namespace ronde::report::rules {
namespace {

constexpr double kSmallBucket = 1 << 20;  // bytes: the mean bucket of a step is small below
constexpr double kManyBuckets = 4;        // a step

std::optional<Advice> find(const Evidence& evidence) {
  if (!waits_for_transfer(evidence)) return {};
  const StepBuckets buckets(evidence.run, evidence.window, evidence.steps);
  const double count = buckets.mean_count(), bytes = buckets.mean_step_bytes();
  if (count < kManyBuckets || bytes / count >= kSmallBucket) return {};
  const double latency = latency_of(evidence, buckets.median_seconds());
  const double needed = 1 + std::ceil(bytes / static_cast<double>(kFusion));  // the first one is small
  const double won = std::min(transfer_seconds(evidence),
                              (count - needed) * latency * static_cast<double>(evidence.steps.numbers.size()));
  Advice advice{.title = "Gradients are sent in many small buckets"};
  advice.gain = share(evidence, won);
  advice.evidence = fmt::format(
      "A step has on average {:.0f} buckets of {}, each of which costs {} regardless of its size; {:.0f} would be "
      "enough.",
      count, format_bytes(static_cast<std::uint64_t>(bytes / count)), seconds_text(latency), needed);
  const bool lowered = bytes_setting(evidence, "comm.fusion_bytes", kFusion) < kFusion;
  advice.change =
      lowered ? "Use larger buckets." : "Let autotune search for bucket sizes that suit this network during training.";
  advice.setting = lowered ? "comm.fusion_bytes=64MiB" : "comm.autotune=true";
  advice.at = longest_wait(evidence);
  advice.because = "gradients are sent in many small buckets";
  return advice;
}

}  // namespace

RuleEntry small_buckets_entry() {
  return {.name = "small_buckets",
          .group = RuleGroup::Communication,
          .find = find,
          .explains = {"communication"}};  // the network is not slow: it is asked too often
}

}  // namespace ronde::report::rules
