// Trainings that are evaluated within epochs (train.evaluate_every), and that keep their best checkpoint
// (checkpoint.best).
#include <fstream>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ronde/base/error.h"
#include "ronde/train/checkpoint/checkpoint_folder.h"
#include "ronde/train/trainer_testing.h"

namespace ronde::train {
namespace {

using tests::distance;

class EvaluatedTrainings : public tests::Trainings {
 protected:
  EvaluatedTrainings() { set("train.evaluate_every", "3"); }

  // Steps of the log's lines of one kind, with the value of a metric.
  std::vector<std::pair<std::int64_t, double>> told(const std::string& kind, const std::string& metric) const {
    std::ifstream log(folder_ / "out" / "log.jsonl");
    std::vector<std::pair<std::int64_t, double>> found;
    for (std::string line; std::getline(log, line);)
      if (const auto entry = nlohmann::json::parse(line); entry.at("kind") == kind)
        found.emplace_back(entry.at("step").get<std::int64_t>(), entry.at(metric).get<double>());
    return found;
  }
  std::vector<std::int64_t> steps_of(const std::string& kind) const {
    std::vector<std::int64_t> steps;
    for (const auto& [step, loss] : told(kind, "test_loss")) steps.push_back(step);
    return steps;
  }
  std::vector<std::string> names_in(const char* folder) const {
    std::vector<std::string> names;
    for (const auto& path : list_checkpoints(folder_ / "out" / folder)) names.push_back(path.filename().string());
    return names;
  }
  Checkpoint best() const { return load_newest_checkpoint(folder_ / "out" / "best").value(); }
  Checkpoint newest() const { return load_newest_checkpoint(folder_ / "out" / "checkpoints").value(); }
};

using Steps = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

TEST_F(EvaluatedTrainings, AreEvaluatedEverySoManySteps) {
  for (const int ranks : {1, 2}) {
    std::filesystem::remove_all(folder_ / "out");
    EXPECT_EQ(train(ranks).steps, 16);
    EXPECT_EQ(steps_of("evaluation"), (Steps{3, 6, 9, 12, 15})) << ranks;
    EXPECT_EQ(steps_of("epoch"), (Steps{8, 16})) << ranks;
  }
}

TEST_F(EvaluatedTrainings, EndAnEpochWithOneEvaluation) {
  set("train.evaluate_every", "4");
  train(2);
  EXPECT_EQ(steps_of("evaluation"), (Steps{4, 12}));
  EXPECT_EQ(steps_of("epoch"), (Steps{8, 16}));
}

TEST_F(EvaluatedTrainings, HaveTheSameBitsWithEvaluationsAndBreaks) {
  set("train.ema", "0.9");
  set("train.evaluate_every", "0");
  begin_again();
  train(2);
  const Checkpoint plain = newest();
  set("train.evaluate_every", "3");
  begin_again();
  train(2);
  EXPECT_EQ(distance(plain.model, newest().model), 0);
  EXPECT_EQ(distance(plain.ema, newest().ema), 0);
  begin_again();
  set("train.steps", "6");
  train(2);
  set("train.steps", "0");
  EXPECT_EQ(train(2).steps, 16);
  EXPECT_EQ(distance(plain.model, newest().model), 0);
  EXPECT_EQ(distance(plain.ema, newest().ema), 0);
}

TEST_F(EvaluatedTrainings, StopWithinAnEpochWhenNothingImproves) {
  set("optimizer.lr", "0");
  set("train.epochs", "20");
  set("train.evaluate_every", "2");
  set("train.patience", "3");
  EXPECT_EQ(train(2).steps, 8) << "evaluations after 2, 4, 6 and 8 steps";
  EXPECT_EQ(train(2).steps, 8) << "it is complete";
}

TEST_F(EvaluatedTrainings, StopWithinAnEpochAtTheirTarget) {
  set("train.target_accuracy", "0.01");
  EXPECT_EQ(train(2).steps, 3);
  EXPECT_EQ(train(2).steps, 3) << "it is complete";
}

// As a run leaves it that has no time left for the evaluation.
TEST_F(EvaluatedTrainings, MakeGoodAnEvaluationWithinAnEpoch) {
  set("train.steps", "6");
  train(2);
  Checkpoint broken = newest();
  broken.info.extra["evaluated"] = "no";
  save_checkpoint({.folder = folder_ / "out" / "checkpoints"}, broken);
  set("train.steps", "0");
  EXPECT_EQ(train(2).steps, 16);
  EXPECT_EQ(steps_of("evaluation"), (Steps{3, 6, 9, 12, 15}));
}

// What a step asks for is answered one step later, unless an evaluation comes between.
TEST_F(EvaluatedTrainings, KeepTheCheckpointsThatFallOnAnEvaluation) {
  set("checkpoint.every", "3");
  set("checkpoint.keep", "9");
  train(2);
  EXPECT_EQ(names_in("checkpoints"), (Names{"step-00000016", "step-00000015", "step-00000012", "step-00000009",
                                            "step-00000006", "step-00000003"}));
}

TEST_F(EvaluatedTrainings, KeepTheirBestCheckpoint) {
  for (const char* sharded : {"false", "true"}) {
    std::filesystem::remove_all(folder_ / "out");
    set("checkpoint.sharded", sharded);
    set("checkpoint.best", "loss");
    train(2);
    auto all = told("evaluation", "test_loss");
    for (const auto& one : told("epoch", "test_loss")) all.push_back(one);
    const auto least = std::ranges::min_element(all, {}, [](const auto& one) { return one.second; });
    EXPECT_EQ(names_in("best"), Names{checkpoint_name(least->first)});
    EXPECT_EQ(best().info.step, least->first);
    EXPECT_EQ(best().info.extra.at("best by").find("loss/"), 0u);
    EXPECT_EQ(best().info.ranks, 2);
  }
}

TEST_F(EvaluatedTrainings, KnowTheirBestCheckpointAfterABreak) {
  set("checkpoint.best", "accuracy");
  set("train.steps", "9");
  train(2);
  const Checkpoint first = best();
  set("train.steps", "0");
  set("optimizer.lr", "0");
  train(2);
  EXPECT_EQ(newest().info.step, 16);
  EXPECT_EQ(best().info.step, first.info.step) << "the first of equals";
  EXPECT_EQ(distance(best().model, first.model), 0);
  // From before the best: what is put aside is no longer the best of what is there.
  set("checkpoint.resume", "none");
  set("train.steps", "3");
  train(2);
  EXPECT_EQ(names_in("best"), Names{"step-00000003"});
  EXPECT_EQ(names_in("best.1"), Names{checkpoint_name(first.info.step)});
}

TEST_F(EvaluatedTrainings, BeginWithTheBestOfAnother) {
  set("train.ema", "0.9");
  set("checkpoint.best", "loss");
  train(2);
  const TensorMap expected = best().ema;
  set("train.ema", "0");
  set("checkpoint.best", "");
  set("model.weights", (folder_ / "out" / "best").string());
  set("output.dir", (folder_ / "tuned").string());
  set("optimizer.lr", "0");
  set("train.steps", "1");
  train(2);
  EXPECT_EQ(distance(expected, load_newest_checkpoint(folder_ / "tuned" / "checkpoints")->model), 0);
}

TEST_F(EvaluatedTrainings, RefuseAMeasureThatThereIsNot) {
  set("checkpoint.best", "acuracy");
  try {
    train(1);
    ADD_FAILURE() << "it trained";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "checkpoint.best is 'acuracy', but evaluations of this training measure accuracy, accuracy5, loss");
  }
}

}  // namespace
}  // namespace ronde::train
