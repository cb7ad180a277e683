#include "ronde/train/evaluate/tally.h"

#include <cmath>

#include <gtest/gtest.h>

#include "ronde/comm/thread_job.h"
#include "ronde/data/order/batch_plan.h"
#include "ronde/train/meter.h"

namespace ronde::train {
namespace {

using data::Target;

struct Given {
  Target target;
  std::int64_t classes;
  torch::Tensor outputs, targets;
};

// On so many ranks, each with its share of every batch of `batch`; the loss of a sample is a quarter.
Evaluation tallied(const Given& given, int ranks, std::int64_t batch) {
  std::vector<Evaluation> found(static_cast<std::size_t>(ranks));
  comm::run_ranks(ranks, [&](comm::Engine& engine) {
    Tally tally(given.target, given.classes);
    const data::BatchPlan plan{.samples = given.outputs.size(0), .batch = batch};
    for (auto at = plan.batch_at(0); at.size() > 0; at = plan.batch_at(at.end)) {
      const data::Range mine = data::share(at, engine.rank(), engine.size());
      tally.add(given.outputs.slice(0, mine.begin, mine.end), given.targets.slice(0, mine.begin, mine.end),
                0.25 * static_cast<double>(mine.size()));
    }
    found[static_cast<std::size_t>(engine.rank())] = tally.together(engine.world());
  });
  for (const Evaluation& other : found) {
    EXPECT_EQ(other.score, found[0].score) << "all ranks get the same";
    EXPECT_EQ(other.classes, found[0].classes);
    EXPECT_EQ(other.average_precision.mean, found[0].average_precision.mean);
    EXPECT_EQ(other.average_precision.classes, found[0].average_precision.classes);
  }
  return found[0];
}

void expect_the_same_on_any_ranks(const Given& given, const Evaluation& expected) {
  for (const int ranks : {1, 2, 3, 4})
    for (const std::int64_t batch : {1, 4, 5, 100}) {
      const Evaluation found = tallied(given, ranks, batch);
      EXPECT_EQ(found.score, expected.score) << ranks << " ranks, batches of " << batch;
      EXPECT_EQ(found.classes, expected.classes) << ranks << " ranks, batches of " << batch;
      EXPECT_EQ(found.average_precision.mean, expected.average_precision.mean) << ranks << " ranks";
      EXPECT_EQ(found.average_precision.classes, expected.average_precision.classes) << ranks << " ranks";
    }
}

TEST(Tally, OfLabelsIsWhatCountingByHandGives) {
  torch::manual_seed(3);
  const std::int64_t samples = 23, classes = 5;
  Given given{Target::Labels, classes, torch::randn({samples, classes}).mul(4).round().div(4),
              torch::rand({samples, classes}).gt(0.6).to(torch::kFloat32)};
  given.targets.select(1, 3).zero_();  // a class that no sample has
  Evaluation expected{.score = {.loss = 0.25 * samples, .samples = samples},
                      .classes = std::vector<ClassCount>(classes)};
  std::vector<float> scores;
  std::vector<std::uint8_t> flags;
  for (std::int64_t i = 0; i < samples; ++i)
    for (std::int64_t c = 0; c < classes; ++c) {
      const float score = given.outputs[i][c].item<float>();
      const bool found = score > 0, there = given.targets[i][c].item<float>() == 1;
      ClassCount& count = expected.classes[static_cast<std::size_t>(c)];
      count += {.hits = found && there, .falses = found && !there, .misses = !found && there};
      expected.score.hits += found && there;
      expected.score.falses += found && !there;
      expected.score.misses += !found && there;
      scores.push_back(score);
      flags.push_back(there);
    }
  expected.average_precision = mean_average_precision(scores, flags, classes);
  ASSERT_FALSE(expected.average_precision.classes[3]);
  expect_the_same_on_any_ranks(given, expected);
  EXPECT_EQ(score_of(Target::Labels, given.outputs, given.targets, 0.25), expected.score) << "as in training";
}

TEST(Tally, OfMasksIsWhatCountingByHandGives) {
  torch::manual_seed(4);
  const std::int64_t samples = 7, classes = 4, height = 3, width = 5;
  const Given given{Target::Mask, classes, torch::randn({samples, classes, height, width}),
                    torch::randint(classes - 1, {samples, height, width})};  // the last class is only found falsely
  Evaluation expected{.score = {.loss = 0.25 * samples, .samples = samples},
                      .classes = std::vector<ClassCount>(classes)};
  for (std::int64_t i = 0; i < samples; ++i)
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < width; ++x) {
        std::int64_t found = 0;
        for (std::int64_t c = 1; c < classes; ++c)
          if (given.outputs[i][c][y][x].item<float>() > given.outputs[i][found][y][x].item<float>()) found = c;
        const auto there = given.targets[i][y][x].item<std::int64_t>();
        auto& counts = expected.classes;
        if (found == there) {
          ++counts[static_cast<std::size_t>(there)].hits;
          continue;
        }
        ++counts[static_cast<std::size_t>(found)].falses;
        ++counts[static_cast<std::size_t>(there)].misses;
      }
  for (const ClassCount& one : expected.classes) {
    expected.score.hits += one.hits;
    expected.score.falses += one.falses;
    expected.score.misses += one.misses;
  }
  EXPECT_EQ(expected.classes[3].hits + expected.classes[3].misses, 0);
  EXPECT_GT(expected.classes[3].falses, 0);
  expect_the_same_on_any_ranks(given, expected);
  EXPECT_EQ(score_of(Target::Mask, given.outputs, given.targets, 0.25), expected.score) << "as in training";
}

TEST(Tally, OfClassesAndInputsIsTheSumOfScores) {
  torch::manual_seed(5);
  const Given classes{Target::Class, 6, torch::randn({11, 6}), torch::randint(6, {11})};
  expect_the_same_on_any_ranks(classes, {.score = score_of(classes.outputs, classes.targets, 0.25)});
  const Given inputs{Target::Input, 6, torch::randn({11, 1, 2, 2}), torch::randn({11, 1, 2, 2})};
  expect_the_same_on_any_ranks(inputs, {.score = {.loss = 0.25 * 11, .samples = 11}});
}

TEST(Tally, TakesOutputsOfLessPrecision) {
  const Given given{Target::Labels, 2, torch::tensor({{1.0, -1.0}, {-2.0, 2.0}}).to(torch::kBFloat16),
                    torch::tensor({{1.0f, 0.0f}, {0.0f, 1.0f}})};
  EXPECT_EQ(tallied(given, 2, 2).average_precision.mean, (Average{1, 1}));
}

}  // namespace
}  // namespace ronde::train
