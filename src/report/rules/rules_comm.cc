#include <algorithm>
#include <cmath>
#include <map>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/units.h"
#include "ronde/report/compute/devices.h"
#include "ronde/report/rules.h"
#include "ronde/report/run/numbers.h"
#include "ronde/report/run/speed.h"
#include "ronde/report/steps/step_buckets.h"

// The training waits for other ranks: because data take their time, or because it begins to move them late.
namespace ronde::report::rules {
namespace {

constexpr double kSmallBucket = 1 << 20;      // bytes: the mean bucket of a step is small below
constexpr double kManyBuckets = 4;            // a step
constexpr std::uint64_t kFusion = 64 << 20;   // the default of comm.fusion_bytes
constexpr std::uint64_t kFirst = 1 << 20;     // and of comm.first_bucket_bytes
constexpr double kLatencyBound = 0.5;         // share of a collective's time that its size does not matter for
constexpr double kLeastTransfer = 0.05;       // of the run: below, communication is none that binds
constexpr double kLeastSerialisation = 0.05;  // that nothing else explains

// Time that a network of no cost would save.
double transfer_seconds(const Evidence& evidence) {
  return std::max(0.0, evidence.efficiency.no_input_seconds - evidence.efficiency.ideal_seconds);
}

double share(const Evidence& evidence, double seconds) {
  return evidence.efficiency.seconds > 0 ? seconds / evidence.efficiency.seconds : 0;
}

std::uint64_t bytes_setting(const Evidence& evidence, const std::string& key, std::uint64_t initial) {
  try {
    if (const auto text = setting(evidence.facts, key)) return parse_bytes(*text);
  } catch (const Error&) {  // of a file that somebody else wrote: as if it were not there
  }
  return initial;
}

// The rank that waits least for communication came last: its waits are those for the network. Its longest one.
std::optional<AdvicePlace> longest_wait(const Evidence& evidence) {
  const auto& ranks = evidence.steps.ranks;
  const auto least = std::ranges::min_element(ranks, {}, [](const RankSteps& rank) { return rank.all.exposed; });
  if (least == ranks.end()) return {};
  const auto traced = std::ranges::find(evidence.run.ranks, least->rank, &trace::RankTrace::rank);
  const auto place = static_cast<std::size_t>(traced - evidence.run.ranks.begin());
  const auto wait = longest(waits_of(evidence.run, *traced, evidence.window.ranks[place]).communication);
  return wait ? std::optional(place_of(evidence, place, *wait)) : std::nullopt;
}

// What a collective takes whatever its size, in seconds; 0: not known.
double latency_of(const Evidence& evidence, const StepBuckets& buckets) {
  return evidence.comm && evidence.comm->latency_us > 0 ? evidence.comm->latency_us / 1e6 : buckets.latency_seconds();
}

// Sum over steps of what a step would win on the rank that would win least: no more than it, since all wait for all.
// The last gradient must still travel after the backward pass, so the latency of one collective cannot be hidden.
template <class Gain>
double least_gain(const Evidence& evidence, double latency, Gain gain) {
  double sum = 0;
  for (std::size_t step = 0; step < evidence.steps.numbers.size(); ++step) {
    double least = -1;
    for (std::size_t rank = 0; rank < evidence.steps.ranks.size(); ++rank) {
      if (evidence.steps.ranks[rank].steps[step].total <= 0) continue;
      const double most = std::max(0.0, evidence.steps.ranks[rank].steps[step].exposed - latency);
      const double here = std::clamp(gain(rank, step), 0.0, most);
      least = least < 0 ? here : std::min(least, here);
    }
    sum += std::max(0.0, least);
  }
  return std::min(sum, transfer_seconds(evidence));
}

std::optional<Advice> for_overlap(const Evidence& evidence, const StepBuckets& buckets) {
  if (!is_off(evidence.facts, "train.overlap")) return {};
  std::vector<std::map<std::int64_t, double>> backward;  // by rank and number of the step
  for (const trace::RankTrace& rank : evidence.run.ranks) {
    auto& steps = backward.emplace_back();
    const trace::Lane* lane = rank.training();
    const Ranges all = lane ? ranges_of(evidence.run, *lane, {trace::span_names::kBackward}) : Ranges{};
    for (const trace::TracedStep& step : rank.steps) steps[step.number] = seconds(length(within(all, step.time)));
  }
  const double won = least_gain(evidence, latency_of(evidence, buckets), [&](std::size_t rank, std::size_t step) {
    return backward[rank][evidence.steps.numbers[step]];
  });
  Advice advice{.rule = "no_overlap", .title = "Gradients are exchanged only after the backward pass"};
  advice.gain = share(evidence, won);
  advice.evidence = fmt::format("train.overlap is off; {} of communication could be hidden behind backward passes.",
                                seconds_text(won));
  advice.change = "Exchange gradients during the backward pass.";
  advice.setting = "train.overlap=true";
  advice.at = longest_wait(evidence);
  advice.because = "gradients are exchanged only after the backward pass";
  return advice;
}

std::optional<Advice> for_late_bucket(const Evidence& evidence, const StepBuckets& buckets) {
  const double won = least_gain(evidence, latency_of(evidence, buckets), [&](std::size_t rank, std::size_t step) {
    return buckets.won_by_early_start(rank, step);
  });
  const auto first = static_cast<std::uint64_t>(buckets.median_first_bytes());
  if (won <= 0 || first == 0) return {};
  Advice advice{.rule = "late_bucket", .title = "The first bucket of gradients is sent late"};
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

std::optional<Advice> for_small_buckets(const Evidence& evidence, const StepBuckets& buckets) {
  const double count = buckets.mean_count(), bytes = buckets.mean_step_bytes();
  if (count < kManyBuckets || bytes / count >= kSmallBucket) return {};
  const double latency =
      evidence.comm && evidence.comm->latency_us > 0 ? evidence.comm->latency_us / 1e6 : buckets.median_seconds();
  const double needed = 1 + std::ceil(bytes / static_cast<double>(kFusion));  // the first one is small
  const double won = std::min(transfer_seconds(evidence),
                              (count - needed) * latency * static_cast<double>(evidence.steps.numbers.size()));
  Advice advice{.rule = "small_buckets", .title = "Gradients are sent in many small buckets"};
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

// What to do about a network that is slow, by whether its latency or its bandwidth is.
void choose_remedy(const Evidence& evidence, const StepBuckets& buckets, Advice& advice) {
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

Advice for_transfer(const Evidence& evidence, const StepBuckets& buckets) {
  Advice advice{.rule = "communication", .title = "Moving data between ranks takes time that is not hidden"};
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
  choose_remedy(evidence, buckets, advice);
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

Advice for_devices(const Evidence& evidence, const StepBuckets& buckets) {
  Advice advice{.rule = "communication", .title = "Collectives on the devices take time that nothing hides"};
  advice.gain = exposed_on_devices(evidence);
  advice.evidence =
      fmt::format("Devices are busy with collectives and copies, and compute nothing, for {} of the time.",
                  percent_text(advice.gain));
  choose_remedy(evidence, buckets, advice);
  advice.because = "data take their time between the devices";
  return advice;
}

}  // namespace

std::vector<Advice> of_communication(const Evidence& evidence) {
  std::vector<Advice> all;
  if (evidence.steps.ranks.size() < 2) return all;
  const double on_devices = exposed_on_devices(evidence);
  if (share(evidence, transfer_seconds(evidence)) < kLeastGain && on_devices < kLeastTransfer) return all;
  const StepBuckets buckets(evidence.run, evidence.window, evidence.steps);
  if (on_devices >= kLeastTransfer) all.push_back(for_devices(evidence, buckets));
  if (auto advice = for_overlap(evidence, buckets)) all.push_back(std::move(*advice));
  if (auto advice = for_late_bucket(evidence, buckets)) all.push_back(std::move(*advice));
  if (auto advice = for_small_buckets(evidence, buckets)) all.push_back(std::move(*advice));
  if (!evidence.efficiency.device && share(evidence, transfer_seconds(evidence)) >= kLeastTransfer)
    all.push_back(for_transfer(evidence, buckets));
  return all;
}

std::optional<Advice> of_serialisation(const Evidence& evidence, const std::vector<Advice>& others) {
  const Efficiency& efficiency = evidence.efficiency;
  if (efficiency.useful_seconds.size() < 2 || efficiency.seconds <= 0) return {};
  double left = share(evidence, efficiency.ideal_seconds - *std::ranges::max_element(efficiency.useful_seconds));
  for (const Advice& other : others)
    if (other.rule != "communication" && other.rule != "late_bucket" && other.rule != "small_buckets" &&
        other.rule != "no_overlap" && other.rule != "input" && other.rule != "small_files" &&
        other.rule != "precision" && other.rule != "batch" && other.rule != "computation")
      left -= other.gain;
  if (left < kLeastSerialisation) return {};
  Advice advice{.rule = "serialisation", .title = "Ranks take turns in waiting for one another", .gain = left};
  advice.evidence = fmt::format(
      "Even on an ideal network the run would take {}, although no rank has more than {} of work: different ranks are "
      "the last at different times.",
      seconds_text(efficiency.ideal_seconds), seconds_text(*std::ranges::max_element(efficiency.useful_seconds)));
  if (setting(evidence.facts, "model.norm").value_or("batch") == "sync") {
    advice.change = "Synchronized batch norms make ranks wait for one another in every layer: use local ones.";
    advice.setting = "model.norm=batch";
  } else {
    advice.change = "Look at the longest waits in the timeline to see what the ranks wait for.";
  }
  advice.at = longest_wait(evidence);
  advice.because = "ranks take turns in waiting for one another";
  return advice;
}

}  // namespace ronde::report::rules
