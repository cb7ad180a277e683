// Trainings that stop in time and go on later, with ranks as threads.
#include <csignal>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/system/clock.h"
#include "ronde/train/checkpoint/checkpoint_folder.h"
#include "ronde/train/trainer_testing.h"

namespace ronde::train {
namespace {

using tests::distance;

using namespace std::chrono_literals;

class StoppedTrainings : public tests::Trainings {
 protected:
  CheckpointInfo newest() const { return load_newest_checkpoint(folder_ / "out" / "checkpoints")->info; }
};

TEST_F(StoppedTrainings, GoOnBitForBit) {
  for (const int ranks : {1, 2}) {
    begin_again();
    const Outcome whole = train(ranks);
    const TensorMap expected = weights();
    begin_again();
    Outcome outcome;
    int jobs = 0;
    for (std::int64_t before = 1; (outcome = train(ranks, TimeLimit(monotonic_now(), 0s))).to_be_continued; ++jobs) {
      ASSERT_GT(outcome.steps, before) << "each job gets a little further";
      before = outcome.steps;
    }
    EXPECT_GT(jobs, 3);
    EXPECT_EQ(outcome.steps, whole.steps);
    EXPECT_EQ(outcome.score, whole.score);
    EXPECT_EQ(distance(expected, weights()), 0) << ranks;
  }
}

TEST_F(StoppedTrainings, HaveTimeWhenThereIsTime) {
  EXPECT_FALSE(train(2, TimeLimit(monotonic_now(), 1h)).to_be_continued);
}

TEST_F(StoppedTrainings, StopOnASignalWithACheckpoint) {
  for (const int signal : {SIGTERM, SIGUSR1}) {
    Interrupt fresh;
    std::raise(signal);
    const Outcome outcome = train(2);
    EXPECT_TRUE(outcome.to_be_continued);
    EXPECT_FALSE(outcome.interrupted);
    EXPECT_EQ(newest().step, outcome.steps);
    EXPECT_LT(outcome.steps, 16);
  }
}

TEST_F(StoppedTrainings, LeaveAnEvaluationForWhichThereIsNoTimeToTheNextJob) {
  set("train.batch", "128");  // two steps an epoch: the decision of the first is known when the epoch ends
  set("train.epochs", "1");
  const Outcome first = train(2, TimeLimit(monotonic_now(), 0s));
  EXPECT_TRUE(first.to_be_continued);
  EXPECT_EQ(first.steps, 2);
  EXPECT_EQ(first.score.samples, 0);
  EXPECT_EQ(newest().extra.at("evaluated"), "no");
  const Outcome second = train(2);
  EXPECT_EQ(second.steps, 2);
  EXPECT_EQ(second.score.samples, 50);
  EXPECT_FALSE(newest().extra.contains("evaluated"));
  EXPECT_EQ(train(2).score.samples, 0) << "now it is complete";
}

TEST_F(StoppedTrainings, LeaveTheEvaluationAfterTheLastStepToo) {
  set("train.steps", "2");
  const Outcome first = train(2, TimeLimit(monotonic_now(), 0s));
  EXPECT_TRUE(first.to_be_continued);
  EXPECT_EQ(first.steps, 2);
  EXPECT_EQ(newest().extra.at("evaluated"), "no");
  const Outcome second = train(2);
  EXPECT_EQ(second.steps, 2);
  EXPECT_EQ(second.score.samples, 50);
}

// Ranks look at the clock before they know that another has: one checkpoint would follow the other.
TEST_F(StoppedTrainings, KeepOneCheckpointAtATime) {
  set("checkpoint.every", "1ms");
  set("checkpoint.keep", "1000");
  set("checkpoint.background", "false");
  train(2);
  const auto all = list_checkpoints(folder_ / "out" / "checkpoints");
  ASSERT_GT(all.size(), 3u);
  for (std::size_t i = 2; i < all.size(); ++i)  // the newest is that of the end
    EXPECT_GE(*step_of(all[i - 1].filename().string()) - *step_of(all[i].filename().string()), 2);
}

TEST_F(StoppedTrainings, PromiseNothingWithoutACheckpoint) {
  std::filesystem::create_directories(folder_ / "out");
  std::ofstream(folder_ / "out" / "checkpoints") << "no folder";
  EXPECT_THROW(train(1, TimeLimit(monotonic_now(), 0s)), Error);
}

TEST_F(StoppedTrainings, AreCompleteAfterTheirStepsToo) {
  set("train.steps", "3");
  EXPECT_EQ(train(2).steps, 3);
  EXPECT_EQ(train(2).steps, 3);
}

TEST_F(StoppedTrainings, ChooseTheirCheckpointsThemselves) {
  set("checkpoint.every", "auto");
  EXPECT_EQ(train(2).steps, 16);
  EXPECT_EQ(newest().step, 16);
}

}  // namespace
}  // namespace ronde::train
