// A task of a user's own, trained as any other.
#include <cmath>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/train/input/device_input.h"
#include "ronde/train/task.h"
#include "ronde/train/trainer_testing.h"

namespace ronde::train {
namespace {

struct Line : models::Network {
  explicit Line(std::int64_t inputs) : layer(register_module("layer", torch::nn::Linear(inputs, 1))) {}
  torch::Tensor forward(torch::Tensor input) override { return layer->forward(input); }
  torch::nn::Linear layer;
};

// y = x0 + 2 x1.
data::Dataset points(std::int64_t samples) {
  return data::function(samples, [](std::int64_t index) {
    data::Random random(3, 0, static_cast<std::uint64_t>(index));
    data::Array x(data::Type::F32, {2}), y(data::Type::F32, {1});
    for (float& value : x.values<float>()) value = random.uniform(-1, 1);
    y.values<float>()[0] = x.values<float>()[0] + 2 * x.values<float>()[1];
    data::Sample sample;
    sample.set("x", x);
    sample.set("y", y);
    return sample;
  });
}

UserTask line_task() {
  return {.name = "line",
          .network = [](const models::ModelOptions& options) { return std::make_shared<Line>(options.input.at(0)); },
          .samples = [](const Settings&, data::Split split) { return points(split == data::Split::Train ? 200 : 50); },
          .arrays = {.input = "x", .target = "y"}};
}

MeasureEntry rmse() {
  return {.key = "rmse",
          .each = [](const torch::Tensor& output,
                     const torch::Tensor& target) { return (output - target).square().mean(1); },
          .finish = [](double mean) { return std::sqrt(mean); }};
}

class UserTasks : public tests::Trainings {
 protected:
  void use(const UserTask& task) {
    auto registry = std::make_shared<Registry>();
    add_task(*registry, task);
    registry->check();
    registry_ = registry;
    settings_ = Settings();
    for (const auto& [key, text] : std::map<std::string, std::string>{{"data.name", task.name},
                                                                      {"model.name", task.name},
                                                                      {"train.batch", "20"},
                                                                      {"train.epochs", "3"},
                                                                      {"optimizer.lr", "0.1"},
                                                                      {"optimizer.momentum", "0.9"},
                                                                      {"comm.deterministic", "true"},
                                                                      {"memory.arena", "false"},
                                                                      {"train.device", "cpu"}})
      settings_.set(key, text, "test");
    settings_.set("output.dir", (folder_ / "out").string(), "test");
    if (task.loss || !task.measures.empty()) set("train.loss", task.name);
  }

  std::string failure(int ranks = 1) {
    try {
      train(ranks);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::BadInput);
      return error.message();
    }
    return "";
  }
};

TEST_F(UserTasks, LearnsNumbersByTheirSquaredError) {
  use(line_task());
  set("train.epochs", "8");
  for (const int ranks : {1, 3}) {
    std::filesystem::remove_all(folder_ / "out");
    const Outcome outcome = train(ranks);
    EXPECT_EQ(outcome.steps, 80);
    EXPECT_EQ(outcome.results.measures.front().key, "mse");
    EXPECT_LT(outcome.results.measures.front().value, 0.01) << ranks;
    EXPECT_EQ(outcome.results.samples, 50);
  }
}

TEST_F(UserTasks, HasALossAndMeasuresOfItsOwn) {
  UserTask task = line_task();
  task.loss = [](const torch::Tensor& output, const torch::Tensor& target) { return (output - target).abs().mean(1); };
  task.measures = {rmse()};
  use(task);
  const Outcome mean_of_each = train(2);
  ASSERT_EQ(mean_of_each.results.measures.size(), 1u);
  EXPECT_EQ(mean_of_each.results.measures[0].key, "rmse");
  EXPECT_TRUE(mean_of_each.results.measures[0].lower_is_better);
  EXPECT_GE(mean_of_each.results.measures[0].value, mean_of_each.results.loss) << "the root of squares against a mean";
  EXPECT_LT(mean_of_each.results.loss, 0.2);
  task.loss = [](const torch::Tensor& output, const torch::Tensor&) { return output.unsqueeze(0); };
  use(task);
  std::filesystem::remove_all(folder_ / "out");
  EXPECT_NE(failure().find("the loss must give a number for each of the 20 samples, or their mean"), std::string::npos);
}

TEST_F(UserTasks, StopsAtItsTargetAndKnowsItAfterwards) {
  UserTask task = line_task();
  task.measures = {rmse()};
  use(task);
  set("train.target_accuracy", "0.3");
  set("train.epochs", "50");
  const Outcome outcome = train(1);
  EXPECT_LT(outcome.steps, 500);
  EXPECT_LE(outcome.results.measures[0].value, 0.3);
  EXPECT_EQ(train(1).steps, outcome.steps) << "it is complete";
}

TEST_F(UserTasks, GoesOnWithTheSameBits) {
  UserTask task = line_task();
  task.measures = {rmse()};
  use(task);
  set("train.clip_value", "0.05");
  set("model.freeze", "*.bias");
  begin_again();
  train(2);
  const TensorMap whole = weights();
  begin_again();
  set("train.steps", "13");
  train(2);
  set("train.steps", "0");
  EXPECT_EQ(train(2).steps, 30);
  EXPECT_EQ(tests::distance(whole, weights()), 0);
}

TEST_F(UserTasks, FrozenParametersStay) {
  use(line_task());
  set("train.steps", "1");
  train(1);
  const TensorMap before = weights();
  set("train.steps", "0");
  set("model.freeze", "layer.weight");
  EXPECT_NE(failure().find("model.freeze"), std::string::npos) << "another training";
  std::filesystem::remove_all(folder_ / "out");
  set("train.steps", "1");
  train(2);
  const torch::Tensor frozen = weights().at("layer.weight");
  set("train.steps", "0");
  train(2);
  EXPECT_TRUE(weights().at("layer.weight").equal(frozen));
  EXPECT_NE(weights().at("layer.bias").item<float>(), before.at("layer.bias").item<float>());
  set("model.freeze", "*");
  set("checkpoint.resume", "none");
  EXPECT_EQ(failure(), "model.freeze is '*', which leaves no parameter to train");
}

TEST_F(UserTasks, GradientsAreCutOffByValue) {
  UserTask task = line_task();
  task.loss = [](const torch::Tensor& output, const torch::Tensor& target) {
    return 1000 * (output - target).square().mean(1);
  };
  use(task);
  set("train.clip_value", "0.5");
  set("optimizer.momentum", "0");
  set("optimizer.lr", "0.01");
  set("train.steps", "1");
  train(2);
  const TensorMap first = weights();
  set("train.steps", "2");
  train(2);
  for (const auto& [name, tensor] : weights())
    EXPECT_NEAR((tensor - first.at(name)).abs().max().item<float>(), 0.005, 1e-6) << name;
}

TEST_F(UserTasks, StopsWhenNothingImproves) {
  use(line_task());
  set("optimizer.lr", "0");
  set("train.epochs", "20");
  set("train.patience", "3");
  set("train.steps", "15");  // the count goes on with the next job
  EXPECT_EQ(train(2).steps, 15);
  set("train.steps", "0");
  EXPECT_EQ(train(2).steps, 30) << "evaluations after 10, 15, 20 and 30 steps";
  EXPECT_EQ(train(2).steps, 30) << "it is complete";
}

TEST_F(UserTasks, ANetworkThatGivesSomethingElseIsRefused) {
  UserTask task = line_task();
  task.network = [](const models::ModelOptions&) { return std::make_shared<Line>(7); };
  use(task);
  EXPECT_EQ(failure().find("model.name = line cannot take samples of 2: mat1 and mat2 shapes"), 0u) << failure();
  use(line_task());
  set("model.name", "mlp");  // built-in networks take the same samples
  set("optimizer.lr", "0.001");
  set("train.epochs", "1");
  EXPECT_EQ(train(1).steps, 10);
}

TEST_F(UserTasks, AugmentsTrainingSamplesAlone) {
  use(line_task());
  auto registry = std::make_shared<Registry>(*registry_);
  registry->augmentations.push_back({.name = "nothing", .apply = [](const data::SampleSpace& sample, auto&, auto&) {
                                       std::ranges::fill(sample.features, 0.0F);
                                       std::ranges::fill(sample.flags, 5.0F);
                                     }});
  registry_ = registry;
  set("data.augment", "nothing");
  train(1);
  EXPECT_GT(weights().at("layer.bias").item<float>(), 3) << "all samples want 5";
  set("data.augment", "noise");
  EXPECT_NE(failure().find("data.augment is 'noise', which no plugin has registered; there are nothing"),
            std::string::npos);
}

// What a GPU gets, by way of its slots, here on the CPU.
TEST(UserTaskInput, IsTheSameByWayOfADevice) {
  const auto open = [] { return data::source_of(points(12), {.input = "x", .target = "y"}, 0); };
  const auto source = open();
  const data::Dataset six = data::from_source(*source) | data::global_batch(6);
  data::Pipeline batches = six.open(), others = six.open();
  DeviceInput input(batches, {});
  Task task;
  task.samples = open();
  for (int i = 0; i < 2; ++i) {
    const auto found = input.next();
    const auto batch = others.next_batch();
    const Samples expected = samples_of(*batch, {0, 6}, task, torch::kCPU);
    EXPECT_EQ(found->inputs.sizes(), (std::vector<std::int64_t>{6, 2}));
    EXPECT_TRUE(found->inputs.equal(expected.inputs));
    EXPECT_EQ(found->targets.sizes(), (std::vector<std::int64_t>{6, 1}));
    EXPECT_TRUE(found->targets.equal(expected.targets));
  }
}

}  // namespace
}  // namespace ronde::train
