#include "ronde/report/advice.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ronde/base/settings/settings_list.h"
#include "ronde/base/text/format.h"
#include "ronde/report/rules.h"
#include "ronde/report/run/recording.h"
#include "ronde/report/run/speed.h"

namespace ronde::report {
namespace {

constexpr double kExplains = 0.5;  // of a symptom's gain: then its cause is enough
constexpr double kGood = 0.85, kFair = 0.6;
constexpr double kMost = 0.5;  // of what is lost

// What follows from what: the second says no more than the first where the first explains half of it.
struct Follows {
  std::string_view cause, symptom;
};
constexpr auto kFollows = std::to_array<Follows>({
    {"not_bound", "imbalance"},          // threads that move make ranks slow by turns
    {"evaluation", "imbalance"},         // work of one rank that reaches into its step
    {"checkpoint", "imbalance"},         //
    {"sequential", "imbalance"},         //
    {"no_overlap", "late_bucket"},       // all buckets are late
    {"no_overlap", "communication"},     // it need not be faster if it can be hidden
    {"late_bucket", "communication"},    //
    {"small_buckets", "communication"},  // the network is not slow: it is asked too often
    {"batch", "computation"},            // kernels are too short
});

bool only_follows(const Advice& advice, const std::vector<Advice>& all) {
  return std::ranges::any_of(kFollows, [&](const Follows& pair) {
    if (pair.symptom != advice.rule) return false;
    const auto cause = std::ranges::find(all, pair.cause, &Advice::rule);
    return cause != all.end() && cause->gain >= std::max(kLeastGain, kExplains * advice.gain);
  });
}

// No more than `most` can be won by any of them.
void append(std::vector<Advice>& all, std::vector<Advice> more, double most = 1) {
  for (Advice& advice : more) {
    advice.gain = std::min(advice.gain, most);
    if (advice.gain >= kLeastGain) all.push_back(std::move(advice));
  }
}

// While a device computes, nothing is lost by what the host waits for.
double lost_at_most(const Efficiency& efficiency) {
  return efficiency.device ? 1 - efficiency.device->value : 1;
}
double starved_at_most(const Efficiency& efficiency) {
  const Factor* busy = efficiency.device ? efficiency.device->find("orchestration") : nullptr;
  return busy ? 1 - busy->value : 1;
}

// The factor that costs most, of those that nothing below explains.
const Factor* worst_leaf(const Factor& factor) {
  if (factor.children.empty()) return &factor;
  const Factor* worst = nullptr;
  for (const Factor& child : factor.children)
    if (const Factor* leaf = worst_leaf(child); !worst || leaf->value < worst->value) worst = leaf;
  return worst;
}

// What the tree does not count as lost: the arithmetic could be faster.
bool is_about_speed(const Advice& advice) {
  return advice.rule == "precision" || advice.rule == "batch" || advice.rule == "computation";
}

std::string how_far(const Evidence& evidence, const char* who = "Training") {
  const std::size_t ranks = evidence.run.ranks.size();
  const bool device = evidence.efficiency.device.has_value();
  const std::string whose = ranks == 1 ? std::string("this rank") : fmt::format("these {} ranks", ranks);
  return fmt::format("{} reaches {:.0f} % of what {}{} could do", who, 100 * evidence.efficiency.judged().value,
                     device ? (ranks == 1 ? "the device of " : "the devices of ") : "", whose);
}

std::string what_costs_most(const Evidence& evidence, const Advice& advice) {
  if (is_about_speed(advice))
    return fmt::format("; up to {} of the time could be saved, because {}.", percent_text(advice.gain), advice.because);
  return fmt::format("; {} is lost because {}.",
                     advice.gain >= kMost * (1 - evidence.efficiency.judged().value) ? "most" : "the largest part",
                     advice.because);
}

// A sentence of its own, unless it is what costs most.
std::string low_computation(const Evidence& evidence, const std::vector<Advice>& advice) {
  const auto& computation = evidence.efficiency.computation;
  if (!computation || computation->value >= kReachable) return "";
  if (!advice.empty() && advice.front().rule == "computation") return "";
  return fmt::format(" Its layers compute at {} of what the machine allows.", percent_text(computation->value));
}

// Numbers without a grade, where there are enough steps for numbers.
std::string so_far(const Evidence& evidence, const std::vector<Advice>& advice) {
  if (evidence.window.steps < kLeastSteps) return "";
  return fmt::format(" In the {} steps that were recorded as a whole, {}{}", evidence.window.steps,
                     how_far(evidence, "training"), advice.empty() ? "." : what_costs_most(evidence, advice.front()));
}

}  // namespace

std::vector<Advice> advise(const Evidence& evidence) {
  std::vector<Advice> all;
  if (evidence.facts.failure && evidence.window.steps < kLeastSteps) return all;  // only the error is to be mended
  const double most = lost_at_most(evidence.efficiency);
  append(all, rules::of_input(evidence), starved_at_most(evidence.efficiency));
  append(all, rules::of_balance(evidence), most);
  append(all, rules::of_binding(evidence), most);
  append(all, rules::of_communication(evidence), most);
  append(all, rules::of_compute(evidence));
  append(all, rules::of_phases(evidence), most);
  if (auto advice = rules::of_serialisation(evidence, all)) append(all, {std::move(*advice)}, most);
  std::vector<Advice> kept;
  for (const Advice& advice : all)
    if (!only_follows(advice, all)) kept.push_back(advice);
  std::ranges::stable_sort(kept, std::ranges::greater{}, &Advice::gain);
  return kept;
}

std::string_view name(Verdict::State state) {
  switch (state) {
    case Verdict::State::Good: return "good";
    case Verdict::State::Fair: return "fair";
    case Verdict::State::Poor: return "poor";
    case Verdict::State::Unknown: return "unknown";
  }
  return "";
}

Verdict verdict_of(const Evidence& evidence, const std::vector<Advice>& advice) {
  const std::string no_grade = why_no_grade(evidence.run, evidence.window, evidence.facts);
  if (!no_grade.empty()) return {.state = Verdict::State::Unknown, .text = no_grade + so_far(evidence, advice)};
  const double reached = evidence.efficiency.judged().value;
  const double score = std::min(reached, advice.empty() ? 1 : 1 - advice.front().gain);
  Verdict verdict;
  verdict.state = score >= kGood ? Verdict::State::Good : score >= kFair ? Verdict::State::Fair : Verdict::State::Poor;
  verdict.text = how_far(evidence);
  const std::string low = low_computation(evidence, advice);
  if (!advice.empty())
    verdict.text += what_costs_most(evidence, advice.front());
  else if (verdict.state == Verdict::State::Good)
    verdict.text += low.empty() ? "; nothing needs to be changed." : ".";
  else
    verdict.text += fmt::format("; most is lost in {}, and no rule found the cause.",
                                worst_leaf(evidence.efficiency.judged())->name);
  verdict.text += low;
  return verdict;
}

std::string flag_of(std::string_view setting) {
  const std::size_t equals = setting.find('=');
  const auto found = std::ranges::find(kSettings, setting.substr(0, equals), &Setting::key);
  if (equals == std::string_view::npos || found == kSettings.end()) return "";
  return fmt::format("{} {}", flag_name(*found), setting.substr(equals + 1));
}

nlohmann::ordered_json to_json(const std::vector<Advice>& advice) {
  using Json = nlohmann::ordered_json;
  auto json = Json::array();
  for (const Advice& one : advice) {
    Json at = nullptr;
    if (one.at) {
      at = {{"rank", one.at->rank}};
      at["step"] = one.at->step ? Json(*one.at->step) : Json(nullptr);
      at["begin"] = one.at->begin;
      at["end"] = one.at->end;
    }
    json.push_back({{"rule", one.rule},
                    {"title", one.title},
                    {"evidence", one.evidence},
                    {"change", one.change},
                    {"setting", one.setting},
                    {"flag", flag_of(one.setting)},
                    {"gain", one.gain},
                    {"at", std::move(at)}});
  }
  return json;
}

}  // namespace ronde::report
