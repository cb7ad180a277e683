// Trainings whose weights are averaged (train.ema).
#include <gtest/gtest.h>

#include "ronde/train/evaluate.h"
#include "ronde/train/trainer_testing.h"

namespace ronde::train {
namespace {

using tests::distance;

class AveragedTrainings : public tests::Trainings {
 protected:
  AveragedTrainings() { set("train.ema", "0.9"); }

  Checkpoint newest() const { return load_newest_checkpoint(folder_ / "out" / "checkpoints").value(); }

  // What the held-out samples say of these weights.
  Score score_of(const TensorMap& weights) {
    comm::ThreadJob job(1);
    const Session session(job.engine(0), settings_);
    const Task task = make_task(session);
    models::copy_values(weights, models::state_of(*task.network), "test");
    return evaluate(session, task, *task.held_out, session.options().batch).score;
  }

  // Trains twice from one first step, and once more with a break.
  void expect_same_bits_after_a_break(int ranks, const char* stop = "7") {
    begin_again();
    train(ranks);
    const Checkpoint whole = newest();
    begin_again();
    set("train.steps", stop);
    train(ranks);
    set("train.steps", "0");
    EXPECT_EQ(train(ranks).steps, 16);
    EXPECT_EQ(distance(whole.model, newest().model), 0);
    EXPECT_EQ(distance(whole.ema, newest().ema), 0);
    EXPECT_GT(distance(whole.model, whole.ema), 0);
  }
};

TEST_F(AveragedTrainings, AreJudgedByTheAverage) {
  set("train.steps", "8");  // while weights still change much
  const Outcome outcome = train(2);
  const Checkpoint checkpoint = newest();
  ASSERT_EQ(checkpoint.ema.size(), checkpoint.model.size());
  EXPECT_NEAR(score_of(checkpoint.ema).loss, outcome.score.loss, 1e-5 * outcome.score.loss);
  EXPECT_GT(std::abs(score_of(checkpoint.model).loss - outcome.score.loss), 1e-4 * outcome.score.loss);
}

TEST_F(AveragedTrainings, GoOnWithTheSameBits) {
  set("train.accumulate", "2");
  expect_same_bits_after_a_break(2);
}

TEST_F(AveragedTrainings, GoOnWithTheSameBitsWhereRanksStepAlone) {
  set("train.sync_every", "3");
  expect_same_bits_after_a_break(2, "6");  // ranks come together for a checkpoint
}

TEST_F(AveragedTrainings, GoOnWithTheSameBitsFromShards) {
  set("checkpoint.sharded", "true");
  expect_same_bits_after_a_break(3);
}

TEST_F(AveragedTrainings, HaveTheSameAverageOnAnyNumberOfRanks) {
  begin_again();
  train(1);
  const TensorMap alone = newest().ema;
  for (const int ranks : {2, 3}) {
    begin_again();
    set("train.accumulate", ranks == 3 ? "2" : "1");
    train(ranks);
    EXPECT_LT(distance(alone, newest().ema), 1e-5) << ranks;
  }
}

TEST_F(AveragedTrainings, BeginWithTheWeightsOfACheckpointThatHasNone) {
  set("train.ema", "0");
  set("train.steps", "8");
  train(2);
  const Checkpoint before = newest();
  EXPECT_TRUE(before.ema.empty());
  set("train.ema", "0.999999");  // 9 steps have gone by, so little of it stays
  set("optimizer.lr", "0");
  set("train.steps", "9");
  train(2);
  EXPECT_LT(distance(before.model, newest().ema), 1e-6);
  set("train.ema", "0");
  set("train.steps", "10");
  train(2);
  EXPECT_TRUE(newest().ema.empty());
}

}  // namespace
}  // namespace ronde::train
