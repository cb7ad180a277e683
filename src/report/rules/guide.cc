#include "ronde/report/rules/guide.h"

#include <algorithm>
#include <array>
#include <map>

#include "ronde/base/settings/settings_list.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/report/rules/entry.h"
#include "ronde/report/run/recording.h"
#include "ronde/report/run/speed.h"

namespace ronde::report {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kSteps = "50";  // of an experiment
constexpr std::array<std::string_view, 4> kStages{"compute", "input", "communication", "scale"};

// Which stage mends what a rule finds.
std::size_t stage_of(const Advice& advice) {
  const rules::RuleEntry rule = rules::find_rule(advice.rule);
  if (rule.group == rules::RuleGroup::Compute || rule.needs_all_ranks) return 0;
  return rule.group == rules::RuleGroup::Input ? 1 : 2;
}

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

const Setting* find_setting(std::string_view key) {
  const auto found = std::ranges::find(kSettings, key, &Setting::key);
  return found == kSettings.end() ? nullptr : &*found;
}

// What an experiment must have in common with the run to tell something about it: all but its length and its output.
bool matters(std::string_view key) {
  constexpr auto kNot = std::to_array<std::string_view>(
      {"train.steps", "train.epochs", "train.deadline", "train.target_accuracy", "data.test_samples"});
  if (std::ranges::find(kNot, key) != kNot.end()) return false;
  constexpr auto kGroups =
      std::to_array<std::string_view>({"data.", "model.", "train.", "comm.", "device.", "memory.", "optimizer.name"});
  return std::ranges::any_of(kGroups, [&](std::string_view group) { return key.starts_with(group); });
}

// The run again, shorter, traced, and with some settings changed.
struct Experiment {
  std::string name = {};
  int ranks = 1;
  Pairs changes = {};
  bool own_data = true;  // as the run had it; otherwise as the recipe says
};

std::string command_of(const Evidence& evidence, const Experiment& experiment, const std::string& report_also = "") {
  const JobFacts& facts = evidence.facts;
  if (facts.recipe.empty()) return "";
  std::map<std::string, std::string> settings;
  for (const auto& [key, text] : facts.settings)
    if (matters(key) && (experiment.own_data || !key.starts_with("data."))) settings[key] = text;
  for (const auto& [key, text] : experiment.changes) settings[key] = text;
  const std::string folder = "guide-" + experiment.name;
  settings["train.steps"] = kSteps;
  settings["checkpoint.resume"] = "none";
  settings["output.dir"] = folder;
  settings["trace.dir"] = folder + "/trace";
  std::string words = fmt::format("ronde run -n {} ronde train {}", experiment.ranks, quoted(facts.recipe));
  for (const auto& [key, text] : settings)
    if (const Setting* known = find_setting(key)) words += fmt::format(" {} {}", flag_name(*known), quoted(text));
  const std::string before = report_also.empty() ? "" : quoted(report_also) + " ";
  return fmt::format("{} && ronde report {}{}/trace --guide", words, before, folder);
}

// "train.batch=128" of the advice that brings most in a stage.
void add_setting(const Advice* advice, Pairs& changes) {
  if (!advice || advice->setting.empty()) return;
  const std::size_t equals = advice->setting.find('=');
  changes.emplace_back(advice->setting.substr(0, equals), advice->setting.substr(equals + 1));
}

struct Findings {
  std::array<const Advice*, 4> worst = {};  // of a stage, by gain
  bool has_input = false, has_peers = false;
  const Scaling* scaling = nullptr;
  std::string no_grade = {};  // then nothing is known to be fine

  bool is_shown(std::size_t stage) const {
    return stage == 0 || (stage == 1 && has_input) || (stage == 2 && has_peers) || (stage == 3 && scaling);
  }
  bool is_fine(std::size_t stage) const {
    if (!no_grade.empty()) return false;
    if (stage == 3) return scaling && scaling->lost.empty();
    return is_shown(stage) && !worst[stage];
  }
};

double share_of(const Evidence& evidence, double Shares::*what) {
  double part = 0, all = 0;
  for (const RankSteps& rank : evidence.steps.ranks) part += rank.all.*what, all += rank.all.total;
  return all > 0 ? part / all : 0;
}

std::string text_of(const Evidence& evidence, const Findings& findings, std::size_t stage) {
  if (const Advice* advice = findings.worst[stage])
    return fmt::format("{} (up to {} of the time). {}", advice->title, percent_text(advice->gain), advice->change);
  if (stage == 0 && !findings.no_grade.empty())
    return fmt::format("{} Run it again for at least {} steps before tuning it.", findings.no_grade, kLeastSteps);
  switch (stage) {
    case 0:
      return fmt::format("Compute takes {} of a step and the optimizer {}; no rule found a way to make them faster.",
                         percent_text(share_of(evidence, &Shares::compute)),
                         percent_text(share_of(evidence, &Shares::optimizer)));
    case 1:
      if (!findings.has_input)
        return "This run used no real input. Next, read real samples from the node's storage: any loss of speed is "
               "then due to the input.";
      return fmt::format("Waiting for input takes {} of a step: there is nothing to gain.",
                         percent_text(share_of(evidence, &Shares::input)));
    case 2:
      if (!findings.has_peers)
        return "This run had one rank. Next, run two ranks on synthetic input: any loss is then due to communication "
               "or load balance.";
      return fmt::format("Waiting for other ranks takes {} of a step: there is nothing to gain.",
                         percent_text(share_of(evidence, &Shares::exposed)));
    default: break;
  }
  if (!findings.scaling) return "Next, use more ranks: a report on two runs shows which factor drops at scale.";
  return findings.scaling->text;
}

// Other ranks to compare with: twice as many, or half where that is more than there are cores.
int ranks_for_scale(const Evidence& evidence) {
  const int ranks = static_cast<int>(evidence.run.ranks.size());
  const int cores = evidence.facts.cores * std::max(1, evidence.facts.nodes);
  return ranks > 1 && cores > 0 && 2 * ranks > cores ? ranks / 2 : 2 * ranks;
}

// One rank with the share of the batch that it had among others: nothing but compute is left. Only ranks that are in
// one another's way need company for it.
Experiment compute_experiment(const Evidence& evidence, const Advice* advice) {
  const auto ranks = std::max<std::int64_t>(1, static_cast<std::int64_t>(evidence.run.ranks.size()));
  Experiment experiment{.name = "compute"};
  experiment.changes = synthetic_input(evidence.facts).value_or(Pairs{});
  int times = 1;
  if (advice) {
    const rules::RuleEntry rule = rules::find_rule(advice->rule);
    if (rule.needs_all_ranks) {
      experiment.ranks = static_cast<int>(ranks);
      return experiment;
    }
    times = rule.batch_times;
    if (times == 1) add_setting(advice, experiment.changes);
  }
  if (evidence.facts.batch >= ranks)
    experiment.changes.emplace_back("train.batch", std::to_string(times * evidence.facts.batch / ranks));
  return experiment;
}

std::string command_of(const Evidence& evidence, const Findings& findings, std::size_t stage) {
  const int ranks = std::max(1, static_cast<int>(evidence.run.ranks.size()));
  Experiment experiment{.name = std::string(kStages[stage]), .ranks = ranks};
  switch (stage) {
    case 0: return command_of(evidence, compute_experiment(evidence, findings.worst[0]));
    case 1:
      experiment.own_data = findings.has_input;
      if (findings.worst[1] && findings.worst[1]->setting.starts_with("data.name="))
        experiment.changes.emplace_back("data.path", "PACK");  // as its change says
      add_setting(findings.worst[1], experiment.changes);
      break;
    case 2:
      experiment.ranks = std::max(2, ranks);
      experiment.changes = synthetic_input(evidence.facts).value_or(Pairs{});
      add_setting(findings.worst[2], experiment.changes);
      break;
    default:
      experiment.ranks = ranks_for_scale(evidence);
      return command_of(evidence, experiment, evidence.run.source.string());
  }
  return command_of(evidence, experiment);
}

}  // namespace

std::string_view name(GuideStage::State state) {
  switch (state) {
    case GuideStage::State::Done: return "done";
    case GuideStage::State::Here: return "here";
    case GuideStage::State::Later: return "later";
  }
  return "";
}

std::optional<Pairs> synthetic_input(const JobFacts& facts) {
  const auto shape = [](const std::string& channels, const std::string& resolution) {
    return Pairs{{"data.name", "random"}, {"data.channels", channels}, {"data.resolution", resolution}};
  };
  if (facts.data == "random") return Pairs{};
  if (facts.data == "glyphs") return Pairs{{"data.name", "random"}};  // its shape is what the settings say
  if (facts.data == "mnist") return shape("1", "28");
  if (facts.data == "cifar10") return shape("3", "32");
  constexpr auto kPictures = std::to_array<std::string_view>({"images", "pack", "tar", "tfrecord", "lmdb"});
  if (std::ranges::find(kPictures, facts.data) != kPictures.end())
    return shape(setting(facts, "data.channels").value_or("3"), setting(facts, "data.resolution").value_or("224"));
  return {};
}

std::vector<GuideStage> guide_of(const Evidence& evidence, const std::vector<Advice>& advice, const Scaling* scaling) {
  Findings findings{.has_input = evidence.facts.data != "random",
                    .has_peers = evidence.run.ranks.size() > 1,
                    .scaling = scaling,
                    .no_grade = why_no_grade(evidence.run, evidence.window, evidence.facts)};
  for (const Advice& one : advice) {
    const Advice*& worst = findings.worst[stage_of(one)];
    if (!worst || one.gain > worst->gain) worst = &one;
  }
  std::vector<GuideStage> guide;
  bool found = false;
  for (std::size_t i = 0; i < kStages.size(); ++i) {
    GuideStage stage{.stage = std::string(kStages[i])};
    stage.state = found                 ? GuideStage::State::Later
                  : findings.is_fine(i) ? GuideStage::State::Done
                                        : GuideStage::State::Here;
    found = found || stage.state == GuideStage::State::Here;
    stage.text = text_of(evidence, findings, i);
    if (stage.state != GuideStage::State::Done) stage.command = command_of(evidence, findings, i);
    guide.push_back(std::move(stage));
  }
  return guide;
}

}  // namespace ronde::report
