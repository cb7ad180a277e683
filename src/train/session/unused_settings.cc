#include "ronde/train/session/unused_settings.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "ronde/base/settings/settings.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/data/order/split.h"
#include "ronde/data/source.h"
#include "ronde/train/optim/optimizer_names.h"
#include "ronde/train/schedule.h"

namespace ronde::train {
namespace {

using data::Preparation;

// Who knows whether a setting counts: all settings, the facts, and its own key and text.
struct Case {
  std::string_view key;
  const Settings& settings;
  const UseFacts& facts;
  const std::string& text;

  bool any(std::initializer_list<Preparation> these) const {
    return std::ranges::find(these, facts.preparation) != these.end();
  }
  bool stored() const { return data::is_stored(settings.get<"data.name">()); }
  bool is(double number) const { return parse_number<double>(text) == number; }
};

// Why it does not count; nothing: it does, or asks for what happens anyway.
using Why = std::optional<std::string> (*)(const Case& one);

enum class Matter { Result, Speed };

struct Rule {
  std::string_view key;
  std::string_view by;  // the setting that decides
  Matter matter;
  Why why;
};

std::string what(const Case& one) {
  switch (one.facts.preparation) {
    case Preparation::Drawn:
    case Preparation::Text: return fmt::format("the samples of '{}' are generated", one.settings.get<"data.name">());
    case Preparation::Digits: return "the digits of mnist are used unchanged, except for data.normalize";
    case Preparation::Shifted:
      return "the pictures of cifar10 are only shifted by up to 4 pixels and mirrored; pack them ('ronde data pack') "
             "for all other augmentations";
    case Preparation::Pictures: return "the samples are pictures";
    case Preparation::Bands: return "bands are normalised by their own statistics, mirrored, rotated and blanked";
    case Preparation::Numbers: break;
  }
  return "the samples are numbers, not pictures, and are used unchanged";
}

std::optional<std::string> unless(bool counts, std::string why) {
  return counts ? std::nullopt : std::optional(std::move(why));
}

std::optional<std::string> size_of_samples(const Case& one, std::int64_t size, const char* unit) {
  return unless(one.is(static_cast<double>(size)), fmt::format("the samples have {} {} in any case", size, unit));
}

std::optional<std::string> need_pictures(const Case& one, bool nothing_asked,
                                         std::initializer_list<Preparation> these) {
  return unless(nothing_asked || one.any(these), what(one));
}

using Names = std::vector<std::string>;

std::optional<std::string> only_for(const char* key, const std::string& name, const Names& these) {
  const bool counts = std::ranges::find(these, name) != these.end();
  return unless(counts, fmt::format("{} is {}, but this setting is for {}", key, name, join(these, ", ")));
}
// One of the settings that some optimizers read.
std::optional<std::string> for_its_optimizers(const Case& one) {
  const std::string name = one.settings.get<"optimizer.name">();
  if (const auto& own = one.facts.own_optimizer)
    return unless(std::ranges::find(*own, one.key) != own->end(), fmt::format("{} does not read it", name));
  return only_for("optimizer.name", name, optimizers_with(one.key));
}
std::optional<std::string> for_schedules(const Case& one, const Names& these) {
  return only_for("schedule.name", one.settings.get<"schedule.name">(), these);
}

bool shares_test_out(const Settings& settings) {
  const std::string split = settings.get<"data.split">();
  return !split.empty() && data::parse_shares(split).test > 0;
}

std::optional<std::string> needs_trace(const Case& one) {
  return unless(!one.settings.get<"trace.dir">().empty(), "without trace.dir nothing is recorded");
}

constexpr auto kOff = std::to_array<std::string_view>({"false", "off", "no", "0"});
bool is_off(const Case& one) {
  return std::ranges::find(kOff, one.text) != kOff.end();
}

// In the order of the list of settings.
constexpr auto kRules = std::to_array<Rule>({
    {"checkpoint.mtbf", "checkpoint.every", Matter::Speed,
     [](const Case& one) {
       return unless(one.settings.get<"checkpoint.every">() == "auto", "checkpoint.every is not auto");
     }},
    {"comm.autotune_file", "comm.autotune", Matter::Speed,
     [](const Case& one) { return unless(one.settings.get<"comm.autotune">(), "comm.autotune is off"); }},
    {"data.cache", "data.name", Matter::Speed,
     [](const Case& one) {
       return unless(one.stored() || one.text.empty(),
                     fmt::format("'{}' is already in memory", one.settings.get<"data.name">()));
     }},
    {"data.channels", "data.name", Matter::Result,
     [](const Case& one) {
       return one.any({Preparation::Drawn, Preparation::Pictures})
                  ? std::nullopt
                  : size_of_samples(one, one.facts.kind.channels, "channels");
     }},
    {"data.classes", "data.name", Matter::Result,
     [](const Case& one) {
       return one.any({Preparation::Drawn, Preparation::Text})
                  ? std::nullopt
                  : size_of_samples(one, one.facts.kind.classes, "classes");
     }},
    {"data.crop_scale", "data.name", Matter::Result,
     [](const Case& one) {
       const auto crop = data::parse_crop_scale(one.text);
       const bool whole = crop.least == 1 && crop.most == 1;
       return need_pictures(one, whole && !one.any({Preparation::Shifted}), {Preparation::Pictures});
     }},
    {"data.cutout", "data.name", Matter::Result,
     [](const Case& one) { return need_pictures(one, one.is(0), {Preparation::Pictures, Preparation::Bands}); }},
    {"data.flip", "data.name", Matter::Result,
     [](const Case& one) {
       return need_pictures(one, is_off(one), {Preparation::Pictures, Preparation::Bands, Preparation::Shifted});
     }},
    {"data.image", "data.name", Matter::Result,
     [](const Case& one) { return unless(one.stored() || one.text.empty(), what(one)); }},
    {"data.jitter", "data.name", Matter::Result,
     [](const Case& one) { return need_pictures(one, one.is(0), {Preparation::Pictures}); }},
    {"data.label", "data.name", Matter::Result,
     [](const Case& one) { return unless(one.stored() || one.text.empty(), what(one)); }},
    {"data.normalize", "data.name", Matter::Result,
     [](const Case& one) {
       return need_pictures(one, false, {Preparation::Pictures, Preparation::Digits, Preparation::Shifted});
     }},
    {"data.on_device", "data.name", Matter::Speed,
     [](const Case& one) { return need_pictures(one, one.text != "on", {Preparation::Pictures}); }},
    {"data.path", "data.name", Matter::Result,
     [](const Case& one) {
       const bool generated = one.any({Preparation::Drawn, Preparation::Text});
       return unless(!generated || one.text.empty(),
                     what(one) + "; set data.name to the format of the files: images, pack, tar ...");
     }},
    {"data.resolution", "data.name", Matter::Result,
     [](const Case& one) {
       return one.any({Preparation::Digits, Preparation::Shifted, Preparation::Numbers})
                  ? size_of_samples(one, one.facts.kind.height, "rows")
                  : std::nullopt;
     }},
    {"data.rotate", "data.name", Matter::Result,
     [](const Case& one) { return need_pictures(one, is_off(one), {Preparation::Pictures, Preparation::Bands}); }},
    {"data.shuffle", "data.name", Matter::Speed,
     [](const Case& one) {
       return unless(one.stored() || one.text != "chunks",
                     fmt::format("'{}' is in memory, not in chunks of files", one.settings.get<"data.name">()));
     }},
    {"data.split_seed", "data.split", Matter::Result,
     [](const Case& one) { return unless(!one.settings.get<"data.split">().empty(), "data.split is empty"); }},
    {"data.test_path", "data.name", Matter::Result,
     [](const Case& one) { return unless(one.stored() || one.text.empty(), what(one)); }},
    {"data.test_samples", "data.split", Matter::Result,
     [](const Case& one) {
       return unless(one.is(0) || !shares_test_out(one.settings), "data.split sets the number of test samples");
     }},
    {"data.window", "data.shuffle", Matter::Speed,
     [](const Case& one) {
       return unless(one.settings.get<"data.shuffle">() == "chunks", "data.shuffle is not chunks");
     }},
    {"memory.limit", "memory.arena", Matter::Speed,
     [](const Case& one) { return unless(one.settings.get<"memory.arena">(), "memory.arena is off"); }},
    {"model.conv_bias", "model.name", Matter::Result,
     [](const Case& one) {
       return unless(one.facts.has_norms || is_off(one), one.settings.get<"model.name">() + " has no such convolutions");
     }},
    {"model.norm", "model.name", Matter::Result,
     [](const Case& one) {
       return unless(one.facts.has_norms || one.text == "none",
                     one.settings.get<"model.name">() + " has no batch norms");
     }},
    {"optimizer.beta2", "optimizer.name", Matter::Result, for_its_optimizers},
    {"optimizer.lr_batch", "optimizer.lr_scaling", Matter::Result,
     [](const Case& one) {
       return unless(one.settings.get<"optimizer.lr_scaling">() != "none", "optimizer.lr_scaling is none");
     }},
    {"optimizer.momentum", "optimizer.name", Matter::Result,
     [](const Case& one) { return one.is(0) ? std::nullopt : for_its_optimizers(one); }},
    {"optimizer.momentum_correction", "optimizer.name", Matter::Result,
     [](const Case& one) { return is_off(one) ? std::nullopt : for_its_optimizers(one); }},
    {"optimizer.nesterov", "optimizer.name", Matter::Result,
     [](const Case& one) { return is_off(one) ? std::nullopt : for_its_optimizers(one); }},
    {"optimizer.trust", "optimizer.name", Matter::Result, for_its_optimizers},
    {"schedule.end", "schedule.name", Matter::Result,
     [](const Case& one) { return for_schedules(one, {"cosine", "polynomial", "onecycle"}); }},
    {"schedule.factor", "schedule.name", Matter::Result,
     [](const Case& one) { return for_schedules(one, {"step"}); }},
    {"schedule.length", "schedule.name", Matter::Result,
     [](const Case& one) {
       return one.text.empty() ? std::nullopt : for_schedules(one, {"cosine", "step", "polynomial", "onecycle"});
     }},
    {"schedule.milestones", "schedule.name", Matter::Result,
     [](const Case& one) { return one.text.empty() ? std::nullopt : for_schedules(one, {"step"}); }},
    {"schedule.peak", "schedule.name", Matter::Result,
     [](const Case& one) { return for_schedules(one, {"onecycle"}); }},
    {"schedule.power", "schedule.name", Matter::Result,
     [](const Case& one) { return for_schedules(one, {"polynomial"}); }},
    {"schedule.start", "schedule.warmup", Matter::Result,
     [](const Case& one) {
       const bool warms = parse_place("schedule.warmup", one.settings.get<"schedule.warmup">()).count > 0;
       const bool counts = warms || one.settings.get<"schedule.name">() == "onecycle";
       return unless(counts, "schedule.warmup is not set");
     }},
    {"trace.bytes", "trace.dir", Matter::Speed, needs_trace},
    {"trace.filter", "trace.dir", Matter::Speed, needs_trace},
    {"trace.gpu_steps", "trace.dir", Matter::Speed, needs_trace},
    {"trace.modules", "trace.dir", Matter::Speed, needs_trace},
    {"trace.operators", "trace.dir", Matter::Speed, needs_trace},
    {"trace.steps", "trace.dir", Matter::Speed, needs_trace},
    {"train.loss_scale", "train.precision", Matter::Result,
     [](const Case& one) {
       const std::string precision = one.settings.get<"train.precision">();
       return unless(precision == "f16" || one.is(0),
                     fmt::format("train.precision is {}, but losses are scaled for f16 only", precision));
     }},
});

const Settings::Entry& entry_of(const Settings& settings, std::string_view key) {
  const auto found = std::ranges::find(kSettings, key, &Setting::key);
  return settings.entries()[static_cast<std::size_t>(found - kSettings.begin())];
}

bool is_of_recipe(const Settings& settings, const std::string& origin) {
  return std::ranges::any_of(settings.recipes(),
                             [&](const std::string& name) { return origin.starts_with(name + ":"); });
}

// How late a value was set, by where it came from: a default, a configuration file, the recipe, a variable, a flag.
int layer_of(const Settings& settings, const std::string& origin) {
  if (origin == "default") return 0;
  if (is_of_recipe(settings, origin)) return 2;
  if (origin.starts_with("RONDE_")) return 3;
  const auto colon = origin.rfind(':');
  const bool line_of_file = colon != std::string::npos && parse_number<int>(origin.substr(colon + 1)).has_value();
  return line_of_file ? 1 : 4;
}

}  // namespace

std::string Unused::sentence() const {
  return fmt::format("{} = '{}' (from {}) has no effect: {}", key, text, origin, why);
}

std::vector<Unused> unused_settings(const Settings& settings, const UseFacts& facts) {
  std::vector<Unused> unused;
  for (const Rule& rule : kRules) {
    const Settings::Entry& entry = entry_of(settings, rule.key);
    const int layer = layer_of(settings, entry.origin);
    if (layer == 0) continue;
    const auto why = rule.why({rule.key, settings, facts, entry.text});
    if (!why) continue;
    const bool overtaken = layer < layer_of(settings, entry_of(settings, rule.by).origin);
    unused.push_back({.key = std::string(rule.key),
                      .text = entry.text,
                      .origin = entry.origin,
                      .why = *why,
                      .refused = rule.matter == Matter::Result && !overtaken});
  }
  return unused;
}

}  // namespace ronde::train
