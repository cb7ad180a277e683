// What is said before a run against what whole trainings then take.
#include "ronde/train/session/dry_run.h"
#include "ronde/base/settings/settings.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"
#include "ronde/comm/thread_job.h"
#include "ronde/device/device.h"
#include "ronde/parallel/arena.h"
#include "ronde/parallel/memory_watch.h"
#include "ronde/train/trainer.h"

namespace ronde::train {
namespace {

struct Case {
  const char* name;
  const char* model;
  std::int64_t batch;
  std::vector<std::pair<const char*, const char*>> settings = {};
};

Settings settings_of(const Case& tested, const std::string& folder) {
  Settings settings;
  settings.set("train.device", "cpu", "test");
  const auto set = [&](const char* key, const std::string& text) { settings.set(key, text, "test"); };
  set("data.name", "random");
  set("data.channels", "3");
  set("data.resolution", "32");
  set("data.samples", "256");
  set("data.test_samples", "8");
  set("model.name", tested.model);
  set("train.batch", std::to_string(tested.batch));
  set("train.steps", "2");
  set("optimizer.lr", "0.001");
  set("output.dir", folder);
  set("checkpoint.background", "false");
  for (const auto& [key, text] : tested.settings) set(key, text);
  return settings;
}

// The most bytes that tensors of a whole training take, its evaluation and its checkpoint included.
double measured(const Settings& settings) {
  const auto before = static_cast<double>(parallel::arena_statistics().in_use);
  parallel::MemoryWatch watch;
  comm::ThreadJob job(1);
  const Interrupt interrupt;
  Session session(job.engine(0), settings);
  Trainer(session, interrupt, Log({.level = LogLevel::Error})).run();
  const auto marks = watch.take();
  return static_cast<double>(std::ranges::max(marks, {}, &parallel::MemoryMark::peak).peak) - before;
}

class Watched : public testing::Test {
 protected:
  Watched() {
    torch::set_num_threads(1);
    parallel::install_arena();
  }
  ~Watched() override { parallel::uninstall_arena(); }
  const ronde::tests::Folder folder_;
};

class PeakMemory : public Watched, public testing::WithParamInterface<Case> {};

// Says how the two differ, and fails when that is much.
void compare(const Case& tested, const Settings& settings) {
  const std::int64_t pass = tested.batch / settings.get<"train.accumulate">();
  const DryRun known = dry_run(settings);
  const double took = measured(settings);
  const auto said = static_cast<double>(known.step.peak(pass));
  std::printf("%-24s batch %4lld: said %7.1f MB, took %7.1f MB, ratio %.3f; activations %.1f MB\n", tested.name,
              static_cast<long long>(tested.batch), said / 1e6, took / 1e6, said / took,
              known.activations.at(pass) / 1e6);
  EXPECT_NEAR(said / took, 1.0, 0.15);
  EXPECT_LE(known.parameter_bytes + known.activations.at(pass), 1.05 * took);
}

TEST_P(PeakMemory, IsForetoldTo15Percent) {
  if (device::count() > 0) GTEST_SKIP() << "memory of the CPU is watched, and there is a GPU";
  compare(GetParam(), settings_of(GetParam(), folder_.text()));
}

// A class for each pixel, and images that are their own target.
TEST_F(Watched, PeakMemoryOfOtherTargetsIsForetoldToo) {
  if (device::count() > 0) GTEST_SKIP() << "memory of the CPU is watched, and there is a GPU";
  for (const Case& tested : {Case{"UNet", "unet", 4, {{"data.target", "mask"}, {"model.filters", "16"}}},
                             Case{"UNetRecomputed",
                                  "unet",
                                  4,
                                  {{"data.target", "mask"}, {"model.filters", "16"}, {"model.recompute", "true"}}},
                             Case{"Autoencoder", "autoencoder", 16, {{"data.target", "input"}}}}) {
    const Settings settings = settings_of(tested, folder_.text() + "/" + tested.name);
    compare(tested, settings);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Trainings, PeakMemory,
    testing::Values(
        Case{"MlpWide", "mlp-wide", 8, {{"data.channels", "1"}}},
        Case{"MlpWideLargeBatch", "mlp-wide", 256, {{"data.channels", "1"}}},
        Case{"MlpWideAdam", "mlp-wide", 64, {{"data.channels", "1"}, {"optimizer.name", "adam"}}},
        Case{"MlpWideWithoutMomentum", "mlp-wide", 64, {{"data.channels", "1"}, {"optimizer.momentum", "0"}}},
        Case{"MlpWideAccumulated", "mlp-wide", 200, {{"data.channels", "1"}, {"train.accumulate", "2"}}},
        Case{"MlpWideLamb", "mlp-wide", 64, {{"data.channels", "1"}, {"optimizer.name", "lamb"}}},
        Case{"MlpWideLars", "mlp-wide", 64, {{"data.channels", "1"}, {"optimizer.name", "lars"}}},
        Case{"MlpWideBf16", "mlp-wide", 128, {{"data.channels", "1"}, {"train.precision", "bf16"}}},
        Case{"ResNet20Bf16", "resnet20", 64, {{"train.precision", "bf16"}}}, Case{"MlpDeep", "mlp-deep", 128},
        Case{"MlpDeepRecomputed", "mlp-deep", 128, {{"model.recompute", "true"}}}, Case{"ResNet20", "resnet20", 8},
        Case{"ResNet20LargeBatch", "resnet20", 64},
        Case{"ResNet20Recomputed", "resnet20", 64, {{"model.recompute", "true"}}},
        Case{"ResNet20ChannelsFirst", "resnet20", 32, {{"model.channels_last", "false"}}},
        Case{"ResNet18", "resnet18-cifar", 8, {{"data.resolution", "16"}}},
        Case{"ResNet18LargeBatch", "resnet18-cifar", 64, {{"data.resolution", "16"}}}, Case{"Lstm", "lstm", 16},
        Case{"LstmLargeBatch", "lstm", 128}, Case{"Transformer", "transformer", 8},
        Case{"TransformerLargeBatch", "transformer", 48},
        Case{"TransformerRecomputed", "transformer", 48, {{"model.recompute", "true"}}}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(DryRun, KnowsWhatIsKept) {
  if (device::count() > 0) GTEST_SKIP() << "memory of the CPU is watched, and there is a GPU";
  parallel::install_arena();
  const ronde::tests::Folder folder;
  const auto dry_run_with = [&](const char* optimizer) {
    return dry_run(settings_of({"", "mlp", 16, {{"optimizer.name", optimizer}}}, folder.text()));
  };
  const DryRun sgd = dry_run_with("sgd"), adam = dry_run_with("adam");
  parallel::uninstall_arena();
  const double parameters = 4.0 * (3072 * 512 + 512 + 512 * 513 + 512 * 10 + 10);
  EXPECT_EQ(sgd.parameter_bytes, parameters);
  EXPECT_EQ(sgd.gradient_bytes, parameters);
  EXPECT_NEAR(sgd.optimizer_bytes / parameters, 1, 0.01);  // momentum
  EXPECT_NEAR(adam.optimizer_bytes / parameters, 2, 0.01);
  EXPECT_NEAR(sgd.activations.per_sample, 4 * (512 + 512 + 10), 200);
  EXPECT_EQ(sgd.flops, 2.0 * (3072 * 512 + 512 * 512 + 512 * 10) + 512 + 512);
}

TEST(DryRun, FailsInTheWordsOfATraining) {
  const ronde::tests::Folder folder;
  EXPECT_THROW(dry_run(settings_of({"", "resnet21", 16}, folder.text())), Error);
  EXPECT_THROW(dry_run(settings_of({"", "mlp", 16, {{"data.name", "mnist"}}}, folder.text())), Error);
  EXPECT_THROW(dry_run(settings_of({"", "lstm", 16, {{"model.recompute", "true"}}}, folder.text())), Error);
  EXPECT_THROW(dry_run(settings_of({"", "mlp", 16, {{"data.samples", "3"}}}, folder.text())), Error);
  parallel::uninstall_arena();
}

}  // namespace
}  // namespace ronde::train
