// Trainings that are started again in a folder where there is one already, with ranks as threads.
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/train/checkpoint/checkpoint_folder.h"
#include "ronde/train/trainer_testing.h"

namespace ronde::train {
namespace {

class ResumedTrainings : public tests::Trainings {
 protected:
  std::filesystem::path checkpoints() const { return folder_ / "out" / "checkpoints"; }
  CheckpointInfo newest() const { return load_newest_checkpoint(checkpoints())->info; }

  // What a training is refused with.
  std::string refusal(int ranks) {
    try {
      train(ranks);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::BadInput);
      return error.message();
    }
    ADD_FAILURE() << "it went on";
    return {};
  }

  // How often a log tells of the final test.
  int tests_told() const {
    std::ifstream log(folder_ / "out" / "log.jsonl");
    int count = 0;
    for (std::string line; std::getline(log, line);) count += line.find(R"("kind":"test")") != std::string::npos;
    return count;
  }
};

TEST_F(ResumedTrainings, RefuseTheCheckpointOfAnotherModel) {
  set("train.steps", "3");
  train(1);
  set("model.name", "lenet");
  set("data.resolution", "28");
  set("train.steps", "0");
  for (const int ranks : {1, 2}) {
    const std::string text = refusal(ranks);
    EXPECT_NE(text.find("step-00000003 is from a different training:"), std::string::npos) << text;
    EXPECT_NE(text.find("model.name  mlp"), std::string::npos) << text;
    EXPECT_NE(text.find("1 x 8 x 8"), std::string::npos) << text;
    EXPECT_NE(text.find("--checkpoint-resume none"), std::string::npos) << text;
  }
  EXPECT_EQ(newest().step, 3) << "it is as it was";
  set("checkpoint.resume", "never");
  EXPECT_EQ(train(1).steps, 16);
}

TEST_F(ResumedTrainings, RefuseAnotherSplitUnlessTheyAreToldNotTo) {
  set("data.split", "60/20/20");
  set("data.test_samples", "0");
  set("train.steps", "3");
  train(2);
  set("train.steps", "4");
  set("data.split_seed", "1");
  const std::string text = refusal(2);
  EXPECT_NE(text.find("data.split_seed  0                  1"), std::string::npos) << text;
  set("checkpoint.accept_differences", "true");
  EXPECT_EQ(train(2).steps, 4);
  set("checkpoint.accept_differences", "false");
  EXPECT_EQ(train(2).steps, 4) << "the new checkpoint is of the new split";
}

TEST_F(ResumedTrainings, GoOnWithAnotherBatchRateAndNumberOfRanks) {
  set("train.steps", "3");
  train(1);
  for (const auto& [key, text] : std::map<std::string, std::string>{
           {"train.steps", "5"}, {"train.batch", "20"}, {"optimizer.lr", "0.01"}, {"train.epochs", "3"}})
    set(key, text);
  EXPECT_EQ(train(2).steps, 5);
}

TEST_F(ResumedTrainings, AcceptOldCheckpointsThatDoNotSayWhatTheyAre) {
  set("train.steps", "3");
  train(1);
  Checkpoint old = load_newest_checkpoint(checkpoints()).value();
  old.info.settings.clear();
  old.info.extra.clear();
  save_checkpoint({.folder = checkpoints()}, old);
  set("train.steps", "4");
  EXPECT_EQ(train(1).steps, 4);
  EXPECT_FALSE(newest().settings.empty());
}

TEST_F(ResumedTrainings, AreDoneWhenTheyHaveReachedTheirTarget) {
  set("train.target_accuracy", "0.01");
  const Outcome first = train(2);
  ASSERT_EQ(first.steps, 8) << "it stops after the first epoch";
  const TensorMap expected = weights();
  const Outcome second = train(2);
  EXPECT_EQ(second.steps, 8);
  EXPECT_EQ(second.score.samples, 0) << "nothing is left to be done";
  EXPECT_EQ(tests::distance(expected, weights()), 0);
  set("train.target_accuracy", "1");
  EXPECT_EQ(train(2).steps, 16) << "a higher one has yet to be reached";
}

TEST_F(ResumedTrainings, MakeGoodTheTestThatWasBrokenOff) {
  set("data.split", "60/20/20");
  set("data.test_samples", "0");
  train(2);
  ASSERT_EQ(tests_told(), 1);
  EXPECT_EQ(newest().extra.at("tested"), "yes");
  train(2);
  EXPECT_EQ(tests_told(), 1) << "nothing is left to be done";
  // As a run leaves it that is killed while it tests.
  Checkpoint broken = load_newest_checkpoint(checkpoints()).value();
  broken.info.extra.erase("tested");
  save_checkpoint({.folder = checkpoints()}, broken);
  const TensorMap expected = weights();
  train(2);
  EXPECT_EQ(tests_told(), 2);
  EXPECT_EQ(tests::distance(expected, weights()), 0);
  EXPECT_EQ(newest().extra.at("tested"), "yes");
  train(2);
  EXPECT_EQ(tests_told(), 2);
}

TEST_F(ResumedTrainings, TestAgainWhenTheyHaveGoneOn) {
  set("data.split", "60/20/20");
  set("data.test_samples", "0");
  train(1);
  set("train.epochs", "3");
  train(1);
  EXPECT_EQ(tests_told(), 2);
}

TEST_F(ResumedTrainings, AreFoundInTheFolderOfTheirFolder) {
  set("train.steps", "1");
  train(1);
  EXPECT_EQ(find_checkpoint(folder_), checkpoints() / "step-00000001");
  set("output.dir", (folder_ / "other").string());
  train(1);
  EXPECT_EQ(find_checkpoint(folder_ / "out"), checkpoints() / "step-00000001");
  try {
    find_checkpoint(folder_);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              fmt::format("{0} holds 2 trainings; choose one of {0}/other, {0}/out", folder_.string()));
  }
}

}  // namespace
}  // namespace ronde::train
