#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "ronde/device/device.h"
#include "ronde/train/gpu/step_graph.h"
#include "ronde/train/session/hardware.h"
#include "ronde/train/trainer_testing.h"

// Whole trainings on GPU 0, which all ranks share.
namespace ronde::train {
namespace {

class GpuTrainings : public tests::Trainings {
 protected:
  void SetUp() override {
    if (device::count() == 0) GTEST_SKIP() << device::why_none();
    if (!torch::cuda::is_available()) GTEST_SKIP() << "this libtorch has no CUDA";
    set("train.deterministic", "true");
    set("device.tf32", "false");
    set("optimizer.fused", "on");  // on the CPU too: one arithmetic
    apply_device_settings(training_options(settings_));
    set("train.device", "cuda");
  }
  void TearDown() override { at::globalContext().setDeterministicAlgorithms(false, false); }
  // The weights after a training from the same first step on, by these settings beside the usual ones.
  TensorMap after(int ranks, const std::map<std::string, std::string>& with = {}) {
    const Settings usual = settings_;
    for (const auto& [key, text] : with) set(key, text);
    std::filesystem::remove_all(folder_ / "begun");  // another optimizer has another state
    begin_again_on_cpu();
    for (const auto& [key, text] : with) set(key, text);
    outcome_ = train(ranks);
    settings_ = usual;
    return weights();
  }
  void begin_again_on_cpu() {
    const std::string graph = settings_.get<"train.graph">(), precision = settings_.get<"train.precision">();
    for (const auto& [key, text] : std::map<std::string, std::string>{
             {"train.device", "cpu"}, {"train.graph", "off"}, {"train.precision", "f32"}})
      set(key, text);
    torch::manual_seed(0);
    begin_again();
    set("train.device", "cuda");
    set("train.graph", graph);
    set("train.precision", precision);
  }
  Outcome outcome_;
};

TEST_F(GpuTrainings, EndWithTheWeightsOfTheCpu) {
  const TensorMap expected = after(1, {{"train.device", "cpu"}});
  for (const char* graph : {"off", "on"}) {
    const TensorMap found = after(1, {{"train.device", "cuda"}, {"train.graph", graph}});
    EXPECT_LT(tests::distance(found, expected), 2e-4) << "train.graph " << graph;
    EXPECT_EQ(outcome_.steps, 16);
  }
}

TEST_F(GpuTrainings, SeveralRanksOnOneGpuEndWithTheWeightsOfOne) {
  const TensorMap expected = after(1);
  for (const int ranks : {2, 4}) EXPECT_LT(tests::distance(after(ranks), expected), 2e-4) << ranks;
}

// The optimizer, clipping, the schedule: all of it is in the graph or written to where the graph reads it.
TEST_F(GpuTrainings, AGraphChangesNothing) {
  for (const auto& settings : std::vector<std::map<std::string, std::string>>{
           {{"optimizer.name", "sgd"}, {"optimizer.nesterov", "true"}},
           {{"optimizer.name", "adam"}, {"optimizer.lr", "0.001"}},
           {{"optimizer.name", "adamw"}, {"optimizer.weight_decay", "0.01"}, {"optimizer.lr", "0.001"}},
           {{"train.clip_norm", "0.5"}, {"schedule.name", "cosine"}, {"schedule.warmup", "3steps"}},
           {{"train.accumulate", "3"}},
           {{"train.label_smoothing", "0.1"}},
           {{"train.precision", "bf16"}},
           {{"model.name", "resnet20"}, {"model.filters", "4"}, {"train.precision", "bf16"}},
           {{"train.precision", "f16"}},
           {{"train.precision", "f16"}, {"optimizer.name", "adamw"}, {"optimizer.lr", "0.001"}},
       }) {
    auto on = settings, off = settings;
    on["train.graph"] = "on";
    off["train.graph"] = "off";
    const TensorMap without = after(1, off), with = after(1, on);
    EXPECT_EQ(tests::distance(with, without), 0) << settings.begin()->first << " = " << settings.begin()->second;
  }
}

// Of one rank, by two passes a step: steps 6, 9, 12 and 15 are launched as graphs that measure.
TEST_F(GpuTrainings, AGraphMeasuresTheNoiseScaleToo) {
  const auto trained = [&](const char* graph, const char* precision, const char* every) {
    const TensorMap found = after(1, {{"train.graph", graph},
                                      {"train.precision", precision},
                                      {"train.accumulate", "2"},
                                      {"train.noise_scale", every}});
    std::ifstream log(folder_ / "out" / "log.jsonl");
    std::string line, last;
    while (std::getline(log, line))
      if (const auto at = line.find("\"noise_scale\""); at != std::string::npos)
        last = line.substr(at, line.find(',', at) - at);
    return std::pair(found, last);
  };
  for (const char* precision : {"f32", "f16"})
    for (const char* every : {"3", "1"}) {
      const auto [without, expected] = trained("off", precision, every);
      const auto [with, found] = trained("on", precision, every);
      EXPECT_EQ(tests::distance(with, without), 0) << precision << ", every " << every;
      EXPECT_EQ(found, expected) << precision << ", every " << every;
      EXPECT_FALSE(found.empty());
    }
}

TEST_F(GpuTrainings, OneThatCannotBeRecordedSaysWhy) {
  set("train.graph", "on");
  set("optimizer.fused", "auto");
  set("optimizer.name", "lamb");
  try {
    train(1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("train.graph is on, but optimizer.name = lamb"), std::string::npos)
        << error.message();
  }
}

TEST_F(GpuTrainings, AnotherRunGoesOnWithTheSameSteps) {
  for (const char* precision : {"f32", "f16"}) {
    const TensorMap expected = after(1, {{"train.graph", "on"}, {"train.precision", precision}});
    set("train.precision", precision);
    begin_again_on_cpu();
    set("train.steps", "9");
    train(1);
    set("train.steps", "0");
    train(1);
    EXPECT_LT(tests::distance(weights(), expected), 1e-6) << precision;
  }
}

TEST_F(GpuTrainings, ALossThatIsNotFiniteIsToldWithItsStep) {
  begin_again_on_cpu();
  set("optimizer.lr", "1e30");
  try {
    train(1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("the loss is not finite in step"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace ronde::train
