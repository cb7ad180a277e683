#include <algorithm>

#include "ronde/base/text/format.h"
#include "ronde/report/compute/devices.h"
#include "ronde/report/rules.h"
#include "ronde/report/rules/communication_time.h"
#include "ronde/report/rules/entry.h"
#include "ronde/report/run/speed.h"

// Moving data takes its time, on the network or on the devices.
namespace ronde::report::rules {
namespace {

constexpr double kLatencyBound = 0.5;    // share of a collective's time that its size does not matter for
constexpr double kLeastTransfer = 0.05;  // of the run: below, communication is none that binds

// What to do about a network that is slow, by whether its latency or its bandwidth is.
void choose_remedy(const Evidence& evidence, Advice& advice) {
  const StepBuckets buckets(evidence.run, evidence.window, evidence.steps);
  const std::string larger = memory_for_twice(evidence) ? twice_the_batch(evidence) : "";
  const std::string batch = " A larger batch sends less per sample (train.batch; adapt the learning rate).";
  const double count = buckets.mean_count(), bytes = buckets.mean_step_bytes();
  const bool fitted = evidence.comm && evidence.comm->latency_us > 0 && evidence.comm->bandwidth_gb_s > 0 && count > 0;
  const double latency = fitted ? evidence.comm->latency_us / 1e6 : 0;
  const double moving = fitted ? bytes / count / (evidence.comm->bandwidth_gb_s * 1e9) : 0;
  if (fitted && latency > kLatencyBound * (latency + moving)) {
    advice.evidence +=
        fmt::format(" A collective costs {} before its size matters: latency is the limit.", seconds_text(latency));
    advice.change = "Use fewer and larger exchanges: let autotune search for bucket sizes (comm.autotune)." + batch;
    advice.setting = count > 2 || larger.empty() ? "comm.autotune=true" : larger;
  } else if (setting(evidence.facts, "train.compression").value_or("none") == "none") {
    if (fitted)
      advice.evidence +=
          fmt::format(" The bandwidth of {:.3g} GB/s is the limit: half the bytes would take half the time.",
                      evidence.comm->bandwidth_gb_s);
    advice.change = "Send gradients with half the bytes." + batch;
    advice.setting = "train.compression=bf16";
  } else {
    advice.change = "Gradients are already sent with half the bytes." + batch;
    advice.setting = larger.empty() ? "comm.autotune=true" : larger;
  }
  if (evidence.facts.nodes > 1 && advice.setting != "comm.autotune=true")
    advice.change +=
        " Between nodes comm.autotune=true also searches for the best algorithm (inside a node, ranks share memory in "
        "any case).";
}

Advice for_transfer(const Evidence& evidence) {
  Advice advice{.title = "Moving data between ranks takes time that is not hidden"};
  advice.gain = share(evidence, transfer_seconds(evidence));
  double exposed = 0, hidden = 0;
  for (const RankSteps& rank : evidence.steps.ranks) {
    exposed += rank.all.exposed / static_cast<double>(evidence.steps.ranks.size());
    hidden += rank.all.hidden / static_cast<double>(evidence.steps.ranks.size());
  }
  advice.evidence = fmt::format(
      "A rank waits {} on average for others, and {} of communication are hidden. On an ideal network the run would "
      "take {} instead of {}.",
      seconds_text(exposed), seconds_text(hidden), seconds_text(evidence.efficiency.ideal_seconds),
      seconds_text(evidence.efficiency.no_input_seconds));
  choose_remedy(evidence, advice);
  advice.at = longest_wait(evidence);
  advice.because = "moving data between ranks takes time";
  return advice;
}

// The share of the time in which devices are busy with collectives and do not compute. The engine sees nothing of those
// that a graph launches.
double exposed_on_devices(const Evidence& evidence) {
  const auto& device = evidence.efficiency.device;
  const Factor* communication = device ? device->find("device_communication") : nullptr;
  const Factor* busy = device ? device->find("orchestration") : nullptr;
  if (!communication || !busy) return 0;
  double most = 0;
  for (const DeviceUse& use : devices_of(evidence.run, evidence.window))
    most = std::max(most, use.seconds > 0 ? use.collectives / use.seconds : 0);
  return std::min(most, busy->value * (1 - communication->value));
}

Advice for_devices(const Evidence& evidence, double gain) {
  Advice advice{.title = "Collectives on the devices take time that nothing hides"};
  advice.gain = gain;
  advice.evidence =
      fmt::format("Devices are busy with collectives and copies, and compute nothing, for {} of the time.",
                  percent_text(advice.gain));
  choose_remedy(evidence, advice);
  advice.because = "data take their time between the devices";
  return advice;
}

std::optional<Advice> find(const Evidence& evidence) {
  if (evidence.steps.ranks.size() < 2) return {};
  if (evidence.efficiency.device) {
    const double exposed = exposed_on_devices(evidence);
    return exposed >= kLeastTransfer ? std::optional(for_devices(evidence, exposed)) : std::nullopt;
  }
  const bool binds = share(evidence, transfer_seconds(evidence)) >= kLeastTransfer;
  return binds ? std::optional(for_transfer(evidence)) : std::nullopt;
}

}  // namespace

RuleEntry communication_entry() {
  return {.name = "communication", .group = RuleGroup::Communication, .find = find};
}

}  // namespace ronde::report::rules
