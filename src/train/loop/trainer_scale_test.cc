// Whole trainings with the optimizers of large batches, schedules and less exchange.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/train/input/input.h"
#include "ronde/train/trainer_testing.h"

namespace ronde::train {
namespace {

using tests::distance;

class TrainingsAtScale : public tests::Trainings {
 protected:
  std::string log() const {
    std::ifstream file(folder_ / "out" / "log.jsonl");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // The learning rates of all steps from a position on, as each of several ranks sees them. Rates need no exchange: one
  // learner after the other takes its rank's share of the data.
  std::vector<double> rates(int ranks, data::Position start = {}) {
    std::vector<double> first;
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<double> seen;
      comm::ThreadJob job(1);
      const Session session(job.engine(0), settings_);
      Task task = make_task(session);
      Learner learner(session, task);
      data::Pipeline batches = training_data(session.options(), *task.samples, start.seed, rank, ranks).open({}, start);
      while (auto batch = batches.next_batch()) {
        learner.step(static_cast<std::int64_t>(seen.size()) + 1,
                     step_batch_of(std::move(*batch), task, session.device()));
        learner.finished();
        seen.push_back(learner.learning_rate());
      }
      if (rank == 0) first = seen;
      EXPECT_EQ(seen, first) << rank;
    }
    return first;
  }
};

// 256 samples in batches of 30: an epoch has 8 steps and a rest that is dropped, and that does not count.
TEST_F(TrainingsAtScale, RatesDependNeitherOnRanksNorOnBreaks) {
  set("schedule.name", "step");
  set("schedule.warmup", "4steps");
  set("schedule.milestones", "1,12steps");
  set("optimizer.lr", "0.08");
  std::vector<double> expected{0, 0.02, 0.04, 0.06, 0.08, 0.08, 0.08, 0.08};
  for (const double rate : {0.008, 0.0008}) expected.insert(expected.end(), 4, rate);
  const auto alone = rates(1);
  ASSERT_EQ(alone.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(alone[i], expected[i], 1e-15) << i;
  EXPECT_EQ(rates(3), alone);
  EXPECT_EQ(rates(2, {.epoch = 0, .position = 90}), std::vector<double>(alone.begin() + 3, alone.end()));
  EXPECT_EQ(rates(2, {.epoch = 1, .position = 60}), std::vector<double>(alone.begin() + 10, alone.end()));
}

TEST_F(TrainingsAtScale, LarsAndLambGoOnBitForBit) {
  for (const char* name : {"lars", "lamb"}) {
    set("optimizer.name", name);
    set("optimizer.spare_vectors", "true");
    set("schedule.warmup", "4steps");
    std::filesystem::remove_all(folder_ / "begun");
    begin_again();
    train(2);
    const TensorMap expected = weights();
    begin_again();
    set("train.steps", "7");
    train(2);
    set("train.steps", "0");
    EXPECT_EQ(train(2).steps, 16);
    EXPECT_EQ(distance(expected, weights()), 0) << name;
  }
}

TEST_F(TrainingsAtScale, LarsRefusesALayerOfZeros) {
  set("optimizer.name", "lars");
  comm::ThreadJob job(1);
  const Session session(job.engine(0), settings_);
  Task task = make_task(session);
  torch::nn::init::zeros_(task.network->named_parameters()["fc2.weight"]);
  try {
    Learner(session, task);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    EXPECT_NE(error.message().find("'fc2.weight'"), std::string::npos) << error.message();
  }
}

// Every fourth step ranks come together: a checkpoint of such a step has all there is.
TEST_F(TrainingsAtScale, LocalSgdGoesOnBitForBit) {
  set("train.sync_every", "4");
  begin_again();
  train(2);
  const TensorMap expected = weights();
  begin_again();
  for (const char* steps : {"4", "12", "0"}) {
    set("train.steps", steps);
    train(2);
  }
  EXPECT_EQ(distance(expected, weights()), 0);
  set("train.sync_every", "1");
  begin_again();
  train(2);
  EXPECT_GT(distance(expected, weights()), 1e-6) << "it is not plain training";
  EXPECT_LT(distance(expected, weights()), 0.1) << "but near to it";
}

// What is kept and evaluated in between is the mean of all ranks. With plain SGD and one step on it, that is what
// averaged gradients give.
TEST_F(TrainingsAtScale, LocalSgdIsTogetherWhereSomebodyLooks) {
  set("optimizer.momentum", "0");
  set("train.sync_every", "1000");
  begin_again();
  set("train.steps", "2");
  const Outcome local = train(2);
  const TensorMap found = weights();
  set("train.sync_every", "1");
  begin_again();
  set("train.steps", "2");
  const Outcome plain = train(2);
  EXPECT_LT(distance(found, weights()), 1e-6);
  EXPECT_NEAR(local.score.loss, plain.score.loss, 1e-3);
}

TEST_F(TrainingsAtScale, NoiseIsMeasuredOnSeveralRanks) {
  set("train.noise_scale", "1");
  train(2);
  EXPECT_NE(log().find("\"noise_scale\":"), std::string::npos) << log();
  std::filesystem::remove_all(folder_ / "out");
  train(1);
  EXPECT_EQ(log().find("\"noise_scale\":"), std::string::npos) << log();
  std::filesystem::remove_all(folder_ / "out");
  set("train.accumulate", "3");
  train(1);
  EXPECT_NE(log().find("\"noise_scale\":"), std::string::npos) << log();
}

TEST_F(TrainingsAtScale, MeasuringNoiseChangesNothing) {
  begin_again();
  set("train.noise_scale", "1");
  train(2);
  const TensorMap expected = weights();
  begin_again();
  set("train.noise_scale", "0");
  train(2);
  EXPECT_EQ(distance(expected, weights()), 0);
}

TEST_F(TrainingsAtScale, AdasumOfOneRankIsPlainAndOfTwoLearns) {
  set("train.epochs", "6");
  begin_again();
  const Outcome plain = train(1);
  const TensorMap expected = weights();
  set("train.reduce", "adasum");
  begin_again();
  train(1);
  EXPECT_EQ(distance(expected, weights()), 0);
  begin_again();
  const Outcome two = train(2);
  EXPECT_GT(distance(expected, weights()), 1e-6);
  EXPECT_LT(two.score.mean_loss(), plain.score.mean_loss() + 0.1);
}

}  // namespace
}  // namespace ronde::train
