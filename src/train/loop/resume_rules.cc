#include "ronde/train/loop/resume_rules.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "ronde/base/error.h"
#include "ronde/base/settings/settings.h"
#include "ronde/base/text/table.h"
#include "ronde/base/text/text.h"

namespace ronde::train {
namespace {

// Weights that one of them has made are of no use to another. So it is with all of optimizer.*, but for the rate.
constexpr auto kMatter =
    std::to_array<std::string_view>({"data.augment", "data.image", "data.label", "data.name", "data.normalize",
                                     "data.split", "data.split_seed", "data.target", "model.conv_bias", "model.filters",
                                     "model.freeze", "model.name", "model.norm", "train.ignore_index", "train.loss"});
constexpr auto kRates = std::to_array<std::string_view>({"optimizer.lr", "optimizer.lr_batch", "optimizer.lr_scaling"});

// Of generated samples; what they come to is known of the data themselves, where a checkpoint says so.
constexpr auto kShapeSamples =
    std::to_array<std::string_view>({"data.channels", "data.classes", "data.resolution", "data.samples"});

// They change no result, or none that is left when a training goes on.
constexpr auto kSilent = std::to_array<std::string_view>(
    {"data.cache", "data.memory", "data.on_device", "data.on_error", "data.prefetch", "data.threads",
     "model.channels_last", "model.recompute", "model.weights", "optimizer.fused", "plugin", "train.deadline",
     "train.deterministic", "train.device", "train.evaluate_every", "train.graph", "train.noise_scale",
     "train.overlap"});
constexpr auto kSilentParts = std::to_array<std::string_view>(
    {"checkpoint", "cli", "comm", "config", "device", "launch", "log", "memory", "mpi", "output", "topology", "trace"});

template <class List>
bool has(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

bool is_silent(std::string_view key) {
  return has(kSilent, key) || has(kSilentParts, key.substr(0, key.find('.')));
}

bool does_matter(std::string_view key) {
  return has(kMatter, key) || (key.starts_with("optimizer.") && !has(kRates, key));
}

std::string text_in(const std::map<std::string, std::string>& settings, const Setting& setting) {
  const auto found = settings.find(std::string(setting.key));
  return found == settings.end() ? std::string(setting.initial) : found->second;
}

std::string before_text(const std::map<std::string, std::string>& settings, const Setting& setting) {
  const auto seed = settings.find("train.seed");
  if (setting.key == "data.split_seed" && !settings.contains("data.split_seed") && seed != settings.end())
    return seed->second;
  return text_in(settings, setting);
}

// 64MiB and 65536KiB are one value. What this version cannot read is compared as it stands.
bool same_value(const Setting& setting, const std::string& a, const std::string& b) {
  if (a == b) return true;
  try {
    return parse_value(setting, a) == parse_value(setting, b);
  } catch (const Error&) {
    return false;
  }
}

bool is_split(const std::map<std::string, std::string>& settings) {
  const auto split = settings.find("data.split");
  return split != settings.end() && !split->second.empty();
}

std::string shown(const std::string& text) {
  return text.empty() ? "(empty)" : text;
}

}  // namespace

Differences differences_of(const TrainingFacts& before, const TrainingFacts& now) {
  Differences differences{.known = !before.settings.empty()};
  if (!differences.known) return differences;
  const bool split = is_split(before.settings) && is_split(now.settings);
  for (const Setting& setting : kSettings) {
    const bool shapes = has(kShapeSamples, setting.key);
    if (is_silent(setting.key) || (shapes && !before.found.empty())) continue;
    if (setting.key == "data.split_seed" && !split) continue;
    const std::string then = before_text(before.settings, setting), wanted = text_in(now.settings, setting);
    if (same_value(setting, then, wanted)) continue;
    auto& list = shapes || does_matter(setting.key) ? differences.refused : differences.told;
    list.push_back({std::string(setting.key), shown(then), shown(wanted)});
  }
  for (const auto& [what, value] : now.found)
    if (const auto then = before.found.find(what); then != before.found.end() && then->second != value)
      differences.refused.push_back({what, then->second, value});
  if (before.ranks != now.ranks)
    differences.told.push_back({"ranks", fmt::format("{}", before.ranks), fmt::format("{}", now.ranks)});
  return differences;
}

std::string refusal(const std::string& checkpoint, const Differences& differences) {
  Table table({{"what"}, {"in the checkpoint"}, {"now"}});
  for (const Difference& one : differences.refused) table.add({one.what, one.before, one.now});
  return fmt::format(
      "checkpoint {} is from a different training:\n\n{}\nTo train in another folder: --output-dir FOLDER\nTo start "
      "over in this one and move the old checkpoints aside: --checkpoint-resume none\nTo resume from it anyway: "
      "--checkpoint-accept-differences true",
      checkpoint, table.text(2));
}

std::string in_one_line(const std::vector<Difference>& differences) {
  std::vector<std::string> all;
  for (const Difference& one : differences) all.push_back(fmt::format("{} {} -> {}", one.what, one.before, one.now));
  return join(all, ", ");
}

std::map<std::string, std::string> settings_to_evaluate(const std::map<std::string, std::string>& settings,
                                                        const std::optional<std::string>& given) {
  const std::string list = "," + given.value_or("") + ",";
  const auto asked_for = [&](const std::string& key, const std::string& text) {
    if (given) return list.find("," + key + ",") != std::string::npos;
    const auto setting = std::ranges::find(kSettings, key, &Setting::key);
    return setting == kSettings.end() || setting->initial != text;
  };
  std::map<std::string, std::string> chosen;
  for (const auto& [key, text] : settings) {
    const bool writes = key.starts_with("trace.") || key.starts_with("output.") || key.starts_with("comm.autotune");
    // A checkpoint may come from anywhere: which code is loaded is for the user to say.
    const bool loads = key == "plugin";
    if (!writes && !loads && asked_for(key, text)) chosen[key] = text;
  }
  return chosen;
}

std::string given_settings(const Settings& settings) {
  std::vector<std::string> given;
  for (std::size_t i = 0; i < kSettings.size(); ++i)
    if (settings.entries()[i].origin != "default") given.emplace_back(kSettings[i].key);
  return join(given, ",");
}

}  // namespace ronde::train
