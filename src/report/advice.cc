#include "ronde/report/advice.h"

#include <algorithm>
#include <utility>

#include "ronde/base/settings/settings_list.h"
#include "ronde/base/text/format.h"
#include "ronde/report/rules/entry.h"
#include "ronde/report/rules/python_program.h"
#include "ronde/report/run/recording.h"
#include "ronde/report/run/speed.h"

namespace ronde::report {
namespace {

using rules::find_rule;
using rules::is_about_speed;
using rules::RuleEntry;
using rules::RuleGroup;

constexpr double kExplains = 0.5;  // of a symptom's gain: then its cause is enough
constexpr double kGood = 0.85, kFair = 0.6;
constexpr double kMost = 0.5;  // of what is lost

bool names(const std::vector<std::string_view>& rules, std::string_view rule) {
  return std::ranges::find(rules, rule) != rules.end();
}

// It says no more than its cause does, where that explains half of it.
bool only_follows(const Advice& advice, const std::vector<Advice>& all) {
  return std::ranges::any_of(all, [&](const Advice& cause) {
    return names(find_rule(cause.rule).explains, advice.rule) &&
           cause.gain >= std::max(kLeastGain, kExplains * advice.gain);
  });
}

// While a device computes, nothing is lost by what the host waits for.
double lost_at_most(const Efficiency& efficiency) {
  return efficiency.device ? 1 - efficiency.device->value : 1;
}
double starved_at_most(const Efficiency& efficiency) {
  const Factor* busy = efficiency.device ? efficiency.device->find("orchestration") : nullptr;
  return busy ? 1 - busy->value : 1;
}

double most_gain(RuleGroup group, const Efficiency& efficiency) {
  switch (group) {
    case RuleGroup::Input: return starved_at_most(efficiency);
    case RuleGroup::Compute: return 1;  // the tree counts none of it as lost
    case RuleGroup::Balance:
    case RuleGroup::Communication:
    case RuleGroup::Phases: break;
  }
  return lost_at_most(efficiency);
}

// What a rule finds, unless it is too little.
std::optional<Advice> try_rule(const RuleEntry& rule, const Evidence& evidence, const std::vector<Advice>& found) {
  if (std::ranges::any_of(found, [&](const Advice& one) { return names(find_rule(one.rule).replaces, rule.name); }))
    return {};
  std::optional<Advice> advice = rule.find ? rule.find(evidence) : rule.find_after(evidence, found);
  if (!advice) return {};
  advice->rule = rule.name;
  if (rules::is_python_program(evidence.facts)) rules::say_for_python(evidence, *advice);
  advice->gain = std::min(advice->gain, most_gain(rule.group, evidence.efficiency));
  return advice->gain >= kLeastGain ? std::move(advice) : std::nullopt;
}

// The factor that costs most, of those that nothing below explains.
const Factor* worst_leaf(const Factor& factor) {
  if (factor.children.empty()) return &factor;
  const Factor* worst = nullptr;
  for (const Factor& child : factor.children)
    if (const Factor* leaf = worst_leaf(child); !worst || leaf->value < worst->value) worst = leaf;
  return worst;
}

std::string how_far(const Evidence& evidence, const char* who = "Training") {
  const std::size_t ranks = evidence.run.ranks.size();
  const bool device = evidence.efficiency.device.has_value();
  const std::string whose = ranks == 1 ? std::string("this rank") : fmt::format("these {} ranks", ranks);
  return fmt::format("{} reaches {:.0f} % of what {}{} could do", who, 100 * evidence.efficiency.judged().value,
                     device ? (ranks == 1 ? "the device of " : "the devices of ") : "", whose);
}

std::string what_costs_most(const Evidence& evidence, const Advice& advice) {
  if (is_about_speed(find_rule(advice.rule)))
    return fmt::format("; up to {} of the time could be saved, because {}.", percent_text(advice.gain), advice.because);
  return fmt::format("; {} is lost because {}.",
                     advice.gain >= kMost * (1 - evidence.efficiency.judged().value) ? "most" : "the largest part",
                     advice.because);
}

// A sentence of its own, unless it is what costs most.
std::string low_computation(const Evidence& evidence, const std::vector<Advice>& advice) {
  const auto& computation = evidence.efficiency.computation;
  if (!computation || computation->value >= kReachable) return "";
  if (!advice.empty() && find_rule(advice.front().rule).factor == computation->key) return "";
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
  for (const RuleEntry& rule : rules::rule_entries())
    if (auto advice = try_rule(rule, evidence, all)) all.push_back(std::move(*advice));
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

}  // namespace ronde::report
