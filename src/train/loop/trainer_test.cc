// Whole trainings, with ranks as threads.
#include "ronde/train/trainer.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/train/checkpoint/checkpoint_folder.h"
#include "ronde/train/trainer_testing.h"

namespace ronde::train {
namespace {

using namespace tests;

TEST_F(Trainings, GiveTheSameWeightsOnAnyNumberOfRanks) {
  begin_again();
  const Outcome alone = train(1);
  const TensorMap expected = weights();
  for (const int ranks : {2, 3, 4}) {
    begin_again();
    const Outcome outcome = train(ranks);
    EXPECT_EQ(outcome.steps, alone.steps);
    EXPECT_EQ(outcome.score.samples, 50);
    EXPECT_LT(distance(expected, weights()), 1e-4) << ranks;
  }
}

TEST_F(Trainings, GoOnBitForBit) {
  for (const int ranks : {1, 2}) {
    begin_again();
    train(ranks);
    const TensorMap expected = weights();
    begin_again();
    set("train.steps", "5");  // in the middle of the first epoch,
    train(ranks);
    set("train.steps", "11");  // and of the second
    train(ranks);
    set("train.steps", "0");
    EXPECT_EQ(train(ranks).steps, 16);
    EXPECT_EQ(distance(expected, weights()), 0) << ranks;
  }
}

TEST_F(Trainings, GoOnWithAnotherNumberOfRanks) {
  begin_again();
  train(1);
  const TensorMap expected = weights();
  begin_again();
  set("train.steps", "6");
  set("checkpoint.sharded", "true");
  train(3);
  set("train.steps", "0");
  train(2);
  EXPECT_LT(distance(expected, weights()), 1e-4);
}

TEST_F(Trainings, AreDoneWhenTheyAreDone) {
  const auto first = train(2);
  const TensorMap expected = weights();
  EXPECT_EQ(train(2).steps, first.steps);
  EXPECT_EQ(distance(expected, weights()), 0);
}

TEST_F(Trainings, StartAnewWithoutLosingWhatWasThere) {
  train(1);
  set("checkpoint.resume", "none");
  set("train.steps", "2");
  EXPECT_EQ(train(1).steps, 2);
  EXPECT_TRUE(newest_checkpoint(folder_ / "out" / "checkpoints.1"));
}

TEST_F(Trainings, FromAnOlderCheckpointLeaveNewerOnesBehind) {
  set("checkpoint.every", "4");
  const std::int64_t last = train(1).steps;
  const auto older = list_checkpoints(folder_ / "out" / "checkpoints").at(1);
  const std::int64_t step = step_of(older.filename().string()).value();
  ASSERT_LT(step + 2, last);
  set("checkpoint.resume", older.string());
  set("train.steps", std::to_string(step + 1));
  EXPECT_EQ(train(1).steps, step + 1);
  set("checkpoint.resume", "auto");
  set("train.steps", std::to_string(step + 2));
  EXPECT_EQ(train(1).steps, step + 2) << "it goes on from there, not from the end of the first training";
  EXPECT_TRUE(newest_checkpoint(folder_ / "out" / "checkpoints.1"));
}

TEST_F(Trainings, NameTheTensorsOfAnotherNetwork) {
  train(1);
  set("model.name", "lenet");
  set("data.resolution", "28");
  set("checkpoint.accept_differences", "true");
  try {
    train(1);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    EXPECT_NE(error.message().find("weight"), std::string::npos) << error.message();
  }
}

TEST_F(Trainings, StopWhenTheLossIsNotFinite) {
  set("optimizer.lr", "1e30");
  set("checkpoint.every", "1");
  try {
    train(2);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the loss is not finite in step"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("the first tensor that is not finite is"), std::string::npos)
        << error.what();
  }
}

TEST_F(Trainings, NeedABatchThatCanBeShared) {
  set("train.batch", "3");
  EXPECT_THROW(train(4), Error);
  set("train.batch", "1000");
  EXPECT_THROW(train(1), Error);
}

}  // namespace
}  // namespace ronde::train
