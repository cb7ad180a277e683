#include "ronde/report/rules/guide.h"

#include <gtest/gtest.h>

#include "ronde/report/json/json_parts.h"
#include "ronde/report/testing/made_training.h"

namespace ronde::report {
namespace {

using testing::made;
using testing::MadeEvidence;

std::vector<GuideStage> guide(const MadeEvidence& all, const Scaling* scaling = nullptr) {
  return guide_of(all.evidence(), all.advice(), scaling);
}

std::string states(const std::vector<GuideStage>& guide) {
  std::string all;
  for (const GuideStage& stage : guide) all += stage.stage + " " + std::string(name(stage.state)) + "; ";
  return all;
}

MadeEvidence healthy(int ranks) {
  MadeEvidence all(
      made(ranks, 10, {.work = std::vector<double>(static_cast<std::size_t>(ranks), 90), .optimizer = 10}));
  all.run.source = "trace-2";
  all.facts.recipe = "cifar10-quick";
  all.facts.data = "cifar10";
  all.facts.batch = 64;
  all.facts.settings = {{"data.name", "cifar10"}, {"data.path", "my data"},    {"train.batch", "64"},
                        {"train.epochs", "3"},    {"schedule.name", "cosine"}, {"no.such", "setting"}};
  return all;
}

TEST(Guide, SendsAHealthyRunToScale) {
  const auto stages = guide(healthy(2));
  EXPECT_EQ(states(stages), "compute done; input done; communication done; scale here; ");
  EXPECT_EQ(stages[3].command,
            "ronde run -n 4 ronde train cifar10-quick --checkpoint-resume none --data-name cifar10 --data-path 'my "
            "data' --output-dir guide-scale --trace-dir guide-scale/trace --train-batch 64 --train-steps 50 && ronde "
            "report trace-2 guide-scale/trace --guide");
  EXPECT_EQ(stages[0].command, "");
  EXPECT_EQ(to_json(stages)[3]["state"], "here");
}

TEST(Guide, StaysOnTheCoresThatThereAre) {
  MadeEvidence all = healthy(2);
  all.facts.cores = 2;
  EXPECT_EQ(guide(all)[3].command.rfind("ronde run -n 1 ", 0), 0u);
}

TEST(Guide, BeginsWithComputeOnSyntheticInput) {
  MadeEvidence all = healthy(2);
  all.facts.precision = "f32";
  all.rates = MachineRates{.name = "made", .f32 = 1, .bf16 = 4};
  const auto stages = guide(all);
  EXPECT_EQ(states(stages), "compute here; input later; communication later; scale later; ");
  EXPECT_EQ(stages[0].command,
            "ronde run -n 1 ronde train cifar10-quick --checkpoint-resume none --data-channels 3 --data-name random "
            "--data-path 'my data' --data-resolution 32 --output-dir guide-compute --trace-dir guide-compute/trace "
            "--train-batch 32 --train-precision bf16 --train-steps 50 && ronde report guide-compute/trace --guide");
}

TEST(Guide, GoesOnToRealInputAfterASyntheticOne) {
  MadeEvidence all = healthy(1);
  all.facts.data = "random";
  all.facts.settings["data.name"] = "random";
  const auto stages = guide(all);
  EXPECT_EQ(states(stages), "compute done; input here; communication later; scale later; ");
  EXPECT_EQ(stages[1].command,
            "ronde run -n 1 ronde train cifar10-quick --checkpoint-resume none --output-dir guide-input --trace-dir "
            "guide-input/trace --train-batch 64 --train-steps 50 && ronde report guide-input/trace --guide");
  EXPECT_EQ(stages[2].command.rfind("ronde run -n 2 ", 0), 0u);
}

TEST(Guide, StopsAtInputThatIsWaitedFor) {
  MadeEvidence all(made(2, 10, {.work = {70, 70}, .input = 20, .optimizer = 10}));
  all.facts.recipe = "images";
  all.facts.data = "images";
  all.facts.settings = {{"data.path", "pictures"}, {"data.threads", "1"}};
  all.facts.cores = 8;
  all.input = InputLimit{.limit = "decode"};
  const auto stages = guide(all);
  EXPECT_EQ(states(stages), "compute done; input here; communication later; scale later; ");
  EXPECT_NE(stages[1].command.find("--data-threads 4"), std::string::npos) << stages[1].command;
  EXPECT_NE(stages[1].text.find("up to 20 %"), std::string::npos) << stages[1].text;
  all.facts.recipe = "";
  EXPECT_EQ(guide(all)[1].command, "") << "a program of one's own cannot be guessed";
}

TEST(Guide, StopsAtCommunicationThatIsWaitedFor) {
  MadeEvidence all(made(2, 10, {.work = {80, 80}, .move = 20}));
  all.facts.recipe = "demo";
  all.facts.data = "glyphs";
  const auto stages = guide(all);
  EXPECT_EQ(states(stages), "compute done; input done; communication here; scale later; ");
  EXPECT_NE(stages[2].command.find("--data-name random"), std::string::npos) << stages[2].command;
  EXPECT_NE(stages[2].command.find("--train-compression bf16"), std::string::npos) << stages[2].command;
}

TEST(Guide, IsThroughWhenNothingIsLostAtScale) {
  Scaling scaling{.text = "All is well."};
  EXPECT_EQ(states(guide(healthy(2), &scaling)), "compute done; input done; communication done; scale done; ");
  scaling.lost = "transfer";
  EXPECT_EQ(states(guide(healthy(2), &scaling)), "compute done; input done; communication done; scale here; ");
}

TEST(Guide, KnowsWhichInputCanBeReplaced) {
  EXPECT_FALSE(synthetic_input({.data = "text"}));
  EXPECT_TRUE(synthetic_input({.data = "random"})->empty());
  JobFacts pictures{.data = "pack"};
  pictures.settings["data.resolution"] = "64";
  EXPECT_EQ((*synthetic_input(pictures))[2].second, "64");
}

}  // namespace
}  // namespace ronde::report
