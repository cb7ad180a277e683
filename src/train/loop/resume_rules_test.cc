#include "ronde/train/loop/resume_rules.h"
#include "ronde/base/settings/settings.h"

#include <gtest/gtest.h>

namespace ronde::train {
namespace {

TrainingFacts facts(const std::map<std::string, std::string>& changes = {}) {
  TrainingFacts facts;
  for (const Setting& setting : kSettings) facts.settings[std::string(setting.key)] = std::string(setting.initial);
  for (const auto& [key, text] : changes) facts.settings[key] = text;
  facts.found = {{"classes", "10"}, {"sample", "1 x 28 x 28"}, {"training samples", "20000"}};
  return facts;
}

std::vector<std::string> refused(const TrainingFacts& before, const TrainingFacts& now) {
  std::vector<std::string> all;
  for (const Difference& one : differences_of(before, now).refused) all.push_back(one.what);
  return all;
}

using Names = std::vector<std::string>;

TEST(ResumeRules, TheSameTrainingGoesOn) {
  const Differences none = differences_of(facts(), facts());
  EXPECT_TRUE(none.known);
  EXPECT_TRUE(none.refused.empty());
  EXPECT_TRUE(none.told.empty());
}

TEST(ResumeRules, ModelDataSplitAndOptimizerMatter) {
  for (const auto& [key, text] : std::map<std::string, std::string>{{"model.name", "lenet"},
                                                                    {"model.filters", "32"},
                                                                    {"model.norm", "none"},
                                                                    {"data.name", "mnist"},
                                                                    {"data.target", "labels"},
                                                                    {"data.split", "90/10/0"},
                                                                    {"optimizer.nesterov", "true"},
                                                                    {"optimizer.name", "adam"}}) {
    EXPECT_EQ(refused(facts(), facts({{key, text}})), Names{key});
    EXPECT_EQ(refused(facts({{key, text}}), facts()), Names{key});
  }
}

TEST(ResumeRules, ClassesAndSamplesAreThoseThatWereFound) {
  TrainingFacts other = facts({{"data.path", "/elsewhere"}, {"data.classes", "20"}});
  EXPECT_EQ(refused(facts(), other), Names()) << "data may move, and files have their own classes";
  other.found["classes"] = "43";
  other.found["training samples"] = "5000";
  EXPECT_EQ(refused(facts(), other), (Names{"classes", "training samples"}));
}

TEST(ResumeRules, OldCheckpointsThatFoundNothingAreComparedBySettings) {
  TrainingFacts old = facts();
  old.found.clear();
  EXPECT_EQ(refused(old, facts()), Names());
  EXPECT_EQ(refused(old, facts({{"data.classes", "20"}, {"data.samples", "500"}})),
            (Names{"data.classes", "data.samples"}));
}

TEST(ResumeRules, TheSeedOfASplitMattersWhereThereIsOne) {
  EXPECT_EQ(refused(facts(), facts({{"data.split_seed", "4"}})), Names());
  const std::map<std::string, std::string> split{{"data.split", "60/20/20"}};
  EXPECT_EQ(refused(facts(split), facts({{"data.split", "60/20/20"}, {"data.split_seed", "4"}})),
            Names{"data.split_seed"});
  EXPECT_EQ(refused(facts(split), facts({{"data.split", "60/20/20"}, {"train.seed", "4"}})), Names());
}

TEST(ResumeRules, BeforeItHadASeedTheSplitWasByThatOfTheTraining) {
  TrainingFacts old = facts({{"data.split", "60/20/20"}, {"train.seed", "7"}});
  old.settings.erase("data.split_seed");
  const auto now = facts({{"data.split", "60/20/20"}, {"train.seed", "7"}});
  EXPECT_EQ(differences_of(old, now).refused, (std::vector<Difference>{{"data.split_seed", "7", "0"}}));
  EXPECT_EQ(refused(old, facts({{"data.split", "60/20/20"}, {"train.seed", "7"}, {"data.split_seed", "7"}})), Names());
}

TEST(ResumeRules, WhatMayDifferIsTold) {
  TrainingFacts now = facts({{"train.batch", "128"}, {"train.epochs", "9"}, {"optimizer.lr", "0.05"}});
  now.ranks = 4;
  const Differences found = differences_of(facts(), now);
  EXPECT_TRUE(found.refused.empty());
  EXPECT_EQ(in_one_line(found.told),
            "optimizer.lr 0.1 -> 0.05, train.batch 64 -> 128, train.epochs 1 -> 9, ranks 1 -> 4");
}

TEST(ResumeRules, WhatChangesNoTrainingIsLeftOut) {
  const Differences found = differences_of(facts(), facts({{"trace.dir", "trace"},
                                                           {"data.threads", "3"},
                                                           {"comm.fusion_bytes", "1MiB"},
                                                           {"train.device", "cpu"},
                                                           {"output.dir", "out"},
                                                           {"config", "mine.toml"}}));
  EXPECT_TRUE(found.refused.empty());
  EXPECT_TRUE(found.told.empty()) << in_one_line(found.told);
}

TEST(ResumeRules, ValuesAreComparedRatherThanTheirTexts) {
  EXPECT_TRUE(differences_of(facts({{"optimizer.lr", "1e-1"}}), facts({{"optimizer.lr", "0.10"}})).told.empty());
  EXPECT_TRUE(
      differences_of(facts({{"optimizer.nesterov", "on"}}), facts({{"optimizer.nesterov", "true"}})).told.empty());
}

TEST(ResumeRules, OfAVersionWithOtherSettings) {
  TrainingFacts other = facts();
  other.settings["model.gone"] = "1";
  other.settings.erase("optimizer.beta2");          // as it is by default
  other.settings["schedule.name"] = "no such one";  // and this version cannot read it
  const Differences found = differences_of(other, facts());
  EXPECT_TRUE(found.refused.empty());
  EXPECT_EQ(in_one_line(found.told), "schedule.name no such one -> constant");
}

TEST(ResumeRules, WithoutSettingsNothingIsKnown) {
  EXPECT_FALSE(differences_of({}, facts()).known);
  EXPECT_TRUE(differences_of({}, facts()).refused.empty());
}

TEST(ResumeRules, ARefusalIsATableWithTheWaysOut) {
  Differences found;
  found.refused = {{"model.name", "lenet", "resnet20"}, {"data.split", "(empty)", "90/10/0"}};
  EXPECT_EQ(refusal("out/checkpoints/step-00000003", found),
            "checkpoint out/checkpoints/step-00000003 is from a different training:\n\n  what        in the checkpoint "
            " now\n  model.name  lenet              resnet20\n  data.split  (empty)            90/10/0\n\nTo train in "
            "another folder: --output-dir FOLDER\nTo start over in this one and move the old checkpoints aside: "
            "--checkpoint-resume none\nTo resume from it anyway: --checkpoint-accept-differences true");
}

TEST(ResumeRules, AnEvaluationWritesNowhereThatATrainingWrote) {
  Settings settings;
  for (const auto& [key, text] : std::map<std::string, std::string>{{"trace.dir", "trace"},
                                                                    {"output.dir", "out"},
                                                                    {"comm.autotune_file", "found.json"},
                                                                    {"data.resolution", "28"},
                                                                    {"model.name", "lenet"}})
    settings.set(key, text, "test");
  const std::string given = given_settings(settings);
  EXPECT_EQ(given, "comm.autotune_file,data.resolution,model.name,output.dir,trace.dir");
  std::map<std::string, std::string> kept;
  for (std::size_t i = 0; i < kSettings.size(); ++i) kept[std::string(kSettings[i].key)] = settings.entries()[i].text;
  using Map = std::map<std::string, std::string>;
  EXPECT_EQ(settings_to_evaluate(kept, given), (Map{{"data.resolution", "28"}, {"model.name", "lenet"}}));
  EXPECT_EQ(settings_to_evaluate({{"plugin", "libmine.so"}}, "plugin"), Map{}) << "a checkpoint loads no code";
  EXPECT_EQ(settings_to_evaluate(kept, {}), (Map{{"model.name", "lenet"}})) << "an old one: a default is no wish";
}

}  // namespace
}  // namespace ronde::train
