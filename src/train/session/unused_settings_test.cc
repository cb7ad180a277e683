#include "ronde/train/session/unused_settings.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "ronde/train/recipes.h"

namespace ronde::train {
namespace {

using data::Preparation;

const std::map<Preparation, const char*> kSources = {
    {Preparation::Drawn, "glyphs"},    {Preparation::Text, "text"},     {Preparation::Digits, "mnist"},
    {Preparation::Shifted, "cifar10"}, {Preparation::Pictures, "pack"}, {Preparation::Bands, "bigearthnet"},
    {Preparation::Numbers, "csv"}};

UseFacts facts_of(Preparation preparation) {
  return {.preparation = preparation, .kind = {.channels = 3, .height = 32, .width = 32, .classes = 10}};
}

using Flags = std::vector<Settings::Flag>;

// What is unused with those flags, and, but for `told`, refused.
std::set<std::string> refused(const Flags& flags, UseFacts facts = {}, bool told = false) {
  std::set<std::string> keys;
  for (const Unused& one : unused_settings(Settings::load(Environment{}, flags), facts))
    if (one.refused != told) keys.insert(one.key);
  return keys;
}

std::set<std::string> told(const Flags& flags) {
  return refused(flags, {}, true);
}

using Keys = std::set<std::string>;

TEST(UnusedSettings, DefaultsAreSilentWhateverTheSource) {
  for (const auto& [preparation, name] : kSources)
    EXPECT_TRUE(unused_settings(Settings(), facts_of(preparation)).empty()) << name;
}

// Each with the sources for which it counts; for all others it is refused.
TEST(UnusedSettings, OfEachSource) {
  const std::set<Preparation> pictures{Preparation::Pictures};
  const std::set<Preparation> turned{Preparation::Pictures, Preparation::Bands};
  const std::set<Preparation> mirrored{Preparation::Pictures, Preparation::Bands, Preparation::Shifted};
  const std::set<Preparation> stored{Preparation::Pictures, Preparation::Bands, Preparation::Numbers};
  const std::set<Preparation> files{Preparation::Pictures, Preparation::Bands, Preparation::Numbers,
                                    Preparation::Digits, Preparation::Shifted};
  const std::map<std::pair<std::string, std::string>, std::set<Preparation>> counts{
      {{"data.crop_scale", "0.5/1"}, pictures},
      {{"data.jitter", "0.2"}, pictures},
      {{"data.cutout", "0.2"}, turned},
      {{"data.rotate", "true"}, turned},
      {{"data.flip", "true"}, mirrored},
      {{"data.normalize", "unit"}, {Preparation::Pictures, Preparation::Digits, Preparation::Shifted}},
      {{"data.image", "x"}, stored},
      {{"data.label", "x"}, stored},
      {{"data.test_path", "x"}, stored},
      {{"data.path", "x"}, files},
      {{"data.channels", "7"}, {Preparation::Drawn, Preparation::Pictures}},
      {{"data.classes", "7"}, {Preparation::Drawn, Preparation::Text}},
      {{"data.resolution", "7"}, {Preparation::Drawn, Preparation::Text, Preparation::Pictures, Preparation::Bands}},
  };
  for (const auto& [setting, sources] : counts)
    for (const auto& [preparation, name] : kSources) {
      const Keys found = refused({{"data.name", name}, {setting.first, setting.second}}, facts_of(preparation));
      EXPECT_EQ(found, sources.contains(preparation) ? Keys{} : Keys{setting.first}) << setting.first << " " << name;
    }
}

TEST(UnusedSettings, WhatAsksForWhatHappensAnywayIsNoHarm) {
  for (const auto& [preparation, name] : kSources) {
    const Flags flags{{"data.name", name},       {"data.jitter", "0"},      {"data.cutout", "0.0"},
                      {"data.rotate", "off"},    {"data.flip", "false"},    {"data.channels", "3"},
                      {"data.classes", "10"},    {"data.resolution", "32"}, {"train.loss_scale", "0"},
                      {"data.test_samples", "0"}};
    EXPECT_EQ(refused(flags, facts_of(preparation)), Keys{}) << name;
  }
  EXPECT_EQ(refused({{"data.crop_scale", "1/1"}}, facts_of(Preparation::Digits)), Keys{});
  EXPECT_EQ(refused({{"data.crop_scale", "1/1"}}, facts_of(Preparation::Shifted)), Keys{"data.crop_scale"});
}

TEST(UnusedSettings, OfTrainingOptimizerAndSchedule) {
  EXPECT_EQ(refused({{"train.loss_scale", "1024"}}), Keys{"train.loss_scale"});
  EXPECT_EQ(refused({{"train.loss_scale", "1024"}, {"train.precision", "bf16"}}), Keys{"train.loss_scale"});
  EXPECT_EQ(refused({{"train.loss_scale", "1024"}, {"train.precision", "f16"}}), Keys{});
  EXPECT_EQ(refused({{"schedule.milestones", "3,5"}, {"schedule.factor", "0.2"}}),
            (Keys{"schedule.milestones", "schedule.factor"}));
  EXPECT_EQ(refused({{"schedule.milestones", "3,5"}, {"schedule.name", "step"}}), Keys{});
  EXPECT_EQ(refused({{"schedule.peak", "0.2"}, {"schedule.power", "1"}, {"schedule.name", "polynomial"}}),
            Keys{"schedule.peak"});
  EXPECT_EQ(refused({{"schedule.start", "0.1"}}), Keys{"schedule.start"});
  EXPECT_EQ(refused({{"schedule.start", "0.1"}, {"schedule.warmup", "5steps"}}), Keys{});
  EXPECT_EQ(refused({{"schedule.start", "0.1"}, {"schedule.name", "onecycle"}}), Keys{});
  EXPECT_EQ(refused({{"schedule.length", "3"}, {"schedule.end", "0.1"}}), (Keys{"schedule.length", "schedule.end"}));
  EXPECT_EQ(refused({{"optimizer.beta2", "0.9"}, {"optimizer.trust", "1"}, {"optimizer.nesterov", "true"}}),
            (Keys{"optimizer.beta2", "optimizer.trust"}));
  EXPECT_EQ(refused({{"optimizer.name", "adagrad"}, {"optimizer.momentum", "0.9"}, {"optimizer.nesterov", "true"}}),
            (Keys{"optimizer.momentum", "optimizer.nesterov"}));
  EXPECT_EQ(refused({{"optimizer.lr_batch", "64"}}), Keys{"optimizer.lr_batch"});
  EXPECT_EQ(refused({{"optimizer.lr_batch", "64"}, {"optimizer.lr_scaling", "sqrt"}}), Keys{});
  EXPECT_EQ(refused({{"data.split_seed", "4"}}), Keys{"data.split_seed"});
  EXPECT_EQ(refused({{"data.split", "80/0/20"}, {"data.test_samples", "4"}}), Keys{"data.test_samples"});
  EXPECT_EQ(refused({{"data.split", "90/10/0"}, {"data.test_samples", "4"}, {"data.split_seed", "4"}}), Keys{});
  EXPECT_EQ(refused({{"model.norm", "sync"}, {"model.conv_bias", "true"}}, {.has_norms = false}),
            (Keys{"model.norm", "model.conv_bias"}));
  EXPECT_EQ(refused({{"model.norm", "none"}, {"model.conv_bias", "false"}}, {.has_norms = false}), Keys{});
}

TEST(UnusedSettings, WhatIsAMatterOfSpeedOrRecordsIsToldAndNotRefused) {
  const Flags flags{{"data.cache", "ram"},     {"data.window", "4"},        {"data.shuffle", "off"},
                    {"checkpoint.mtbf", "1h"}, {"comm.autotune_file", "x"}, {"trace.bytes", "1MiB"},
                    {"trace.modules", "true"}, {"memory.limit", "1GiB"},    {"memory.arena", "false"},
                    {"data.on_device", "on"}};
  EXPECT_EQ(refused(flags), Keys{});
  EXPECT_EQ(told(flags), (Keys{"data.cache", "data.window", "checkpoint.mtbf", "comm.autotune_file", "trace.bytes",
                               "trace.modules", "memory.limit", "data.on_device"}));
  EXPECT_EQ(told({{"trace.modules", "true"}, {"trace.dir", "x"}}), Keys{});
  EXPECT_EQ(told({{"data.shuffle", "chunks"}, {"data.window", "4"}}), Keys{"data.shuffle"});
}

// Who takes a recipe and chooses other data or another schedule has not asked for the recipe's lines about them.
TEST(UnusedSettings, LinesOfARecipeThatWereOvertakenAreTold) {
  const Settings::Recipe recipe{
      .text =
          "[data]\nname = \"images\"\npath = \"x\"\ncrop_scale = \"0.5/1\"\n[schedule]\nname = \"step\"\n"
          "milestones = \"3\"\n",
      .name = "mine.toml"};
  const auto with = [&](const Flags& flags) {
    const auto all = unused_settings(Settings::load(Environment{}, flags, recipe), {});
    std::map<std::string, bool> found;
    for (const Unused& one : all) found[one.key] = one.refused;
    return found;
  };
  using Found = std::map<std::string, bool>;
  EXPECT_EQ(with({{"data.name", "glyphs"}}), (Found{{"data.crop_scale", false}, {"data.path", false}}));
  EXPECT_EQ(with({{"data.name", "glyphs"}, {"data.path", "y"}}),
            (Found{{"data.crop_scale", false}, {"data.path", true}}));
  EXPECT_EQ(with({{"data.name", "glyphs"}, {"schedule.name", "cosine"}}),
            (Found{{"data.crop_scale", false}, {"data.path", false}, {"schedule.milestones", false}}));
  // In a recipe itself they are a mistake.
  const Settings::Recipe wrong{.text = "[data]\nname = \"mnist\"\nflip = true\n", .name = "mine.toml"};
  const auto found = unused_settings(Settings::load(Environment{}, Flags{}, wrong), facts_of(Preparation::Digits));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].refused);
  EXPECT_EQ(found[0].sentence(),
            "data.flip = 'true' (from mine.toml:3) has no effect: the digits of mnist are used unchanged, except for "
            "data.normalize");
}

TEST(UnusedSettings, ThoseOfTheEnvironmentCountAsAsked) {
  const auto found = unused_settings(Settings::load(Environment({{"RONDE_DATA_JITTER", "0.5"}}), Flags{}), {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].refused);
  EXPECT_EQ(found[0].origin, "RONDE_DATA_JITTER");
}

TEST(UnusedSettings, NoRecipeHasAny) {
  for (const std::string& name : recipe_names()) {
    const Settings settings = Settings::load(Environment{}, Flags{}, find_recipe(name));
    const std::string data = settings.get<"data.name">();
    UseFacts facts = facts_of(data == "images" ? Preparation::Pictures : Preparation::Drawn);
    for (const auto& [preparation, source] : kSources)
      if (data == source) facts.preparation = preparation;
    for (const Unused& one : unused_settings(settings, facts)) ADD_FAILURE() << name << ": " << one.sentence();
  }
}

}  // namespace
}  // namespace ronde::train
