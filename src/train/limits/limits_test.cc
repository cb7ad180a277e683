#include "ronde/train/limits.h"
#include "ronde/base/settings/settings.h"

#include <fstream>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"
#include "ronde/train/limits/limits_text.h"
#include "ronde/train/loop/stored.h"

namespace ronde::train {
namespace {

// A network of one billion operations a sample, a hundred bytes of weights, and 10 bytes kept a sample.
DryRun small() {
  DryRun known{.kind = {.channels = 1, .height = 2, .width = 3, .classes = 2}, .samples = 100, .held_out = 10};
  known.parameters = 25;
  known.parameter_bytes = known.gradient_bytes = known.optimizer_bytes = 100;
  known.activations = {.per_sample = 10};
  known.step.places = {{.fixed = 300}, {.fixed = 200, .per_sample = 10}};
  known.flops = 1e9;
  known.touched = {.fixed = 100, .per_sample = 1e6};
  return known;
}

TrainingOptions with(std::initializer_list<std::pair<const char*, const char*>> values) {
  Settings settings;
  settings.set("train.batch", "40", "test");
  settings.set("checkpoint.every", "0", "test");
  for (const auto& [key, text] : values) settings.set(key, text, "test");
  return training_options(settings);
}

const MachineRates kGpu = {.name = "a GPU",
                           .kind = Hardware::Kind::Gpu,
                           .f32 = 10,
                           .tf32 = 50,
                           .bf16 = 100,
                           .memory_gb_s = 1000,
                           .memory_gb = 16,
                           .host_gb_s = 20,
                           .peer_gb_s = 50,
                           .disk_gb_s = 1};
const MachineRates kCpu = {.name = "a processor", .f32 = 2, .memory_gb_s = 100, .disk_gb_s = 1};

double speed(const std::vector<SpeedLimit>& limits, std::string_view what) {
  for (const SpeedLimit& one : limits)
    if (one.what == what) return one.samples_per_s;
  return -1;
}

TEST(Limits, TheWorkOfAStepByHand) {
  const Work work = work_of(small(), with({}), 2, 50);
  EXPECT_EQ(work.batch, 20);
  EXPECT_EQ(work.flops, 3 * 20 * 1e9);
  EXPECT_EQ(work.touched, 3 * (100 + 20 * 1e6) + 200 + 100 + 200);
  EXPECT_EQ(work.stored, 1000);
  EXPECT_EQ(work.input, 20 * (6 * 4 + 8));
  EXPECT_EQ(work.exchanged, 100);
}

TEST(Limits, SettingsChangeTheWork) {
  const Work plain = work_of(small(), with({}), 1, 0);
  EXPECT_EQ(work_of(small(), with({{"model.recompute", "true"}}), 1, 0).flops, plain.flops / 3 * 4);
  EXPECT_LT(work_of(small(), with({{"train.precision", "bf16"}}), 1, 0).touched, 0.51 * plain.touched);
  EXPECT_GT(work_of(small(), with({{"train.accumulate", "4"}}), 1, 0).touched, plain.touched);  // weights more often
  EXPECT_EQ(work_of(small(), with({{"train.compression", "f16"}}), 1, 0).exchanged, 50);
  EXPECT_EQ(work_of(small(), with({{"train.sync_every", "10"}}), 1, 0).exchanged, 20);
}

// 24 bytes of f32 or 6 of pixels, the 16 that say what the device does to them, and the class.
TEST(Limits, PicturesTravelAsBytesToAGpu) {
  DryRun pictures = small();
  pictures.preparation = data::Preparation::Pictures;
  const auto input = [&](const DryRun& known, bool gpu, const char* place) {
    return work_of(known, with({{"data.on_device", place}}), 2, 0, gpu).input / 20;
  };
  EXPECT_EQ(input(pictures, true, "auto"), 6 + 16 + 8);
  EXPECT_EQ(input(pictures, true, "off"), 24 + 8);
  EXPECT_EQ(input(pictures, false, "auto"), 24 + 8);
  EXPECT_EQ(input(pictures, false, "on"), 6 + 16 + 8);
  EXPECT_EQ(input(small(), true, "auto"), 24 + 8);
  EXPECT_EQ(memory_need(pictures, with({}), kGpu, {}).ahead, 3 * 40 * (6 + 16 + 8));
  EXPECT_EQ(memory_need(pictures, with({}), kCpu, {}).ahead, 3 * 40 * (24 + 8));
  pictures.kind.bf16 = true;
  EXPECT_EQ(input(pictures, false, "auto"), 12 + 8);
}

TEST(Limits, ARankOfAGpuHasItForItself) {
  const Work work = work_of(small(), with({}), 4, 1000);
  const auto limits = speed_limits(work, kGpu, {.ranks = 4});
  EXPECT_NEAR(speed(limits, "compute"), 50e12 / 3e9, 1e-3);  // tf32
  EXPECT_NEAR(speed(limits, "memory bandwidth"), 1000e9 / 3e6, 100);
  EXPECT_NEAR(speed(limits, "file system"), 1e9 / 1000 / 4, 1e-3);  // the disk is not its own
  EXPECT_NEAR(speed(limits, "host-to-device link"), 20e9 / 32, 1);
  EXPECT_NEAR(speed(limits, "network"), 10 * 50e9 / (1.5 * 100), 1);
  EXPECT_EQ(binding(limits)->what, "compute");
  EXPECT_EQ(verdict(limits, 4), "compute is the limit: at most 16,666 samples/s per rank, 66,666 on 4 ranks");
}

TEST(Limits, RanksShareAProcessor) {
  const auto limits = speed_limits(work_of(small(), with({}), 4, 0), kCpu, {.ranks = 4});
  EXPECT_NEAR(speed(limits, "compute"), 2e12 / 3e9 / 4, 1e-3);
  EXPECT_EQ(speed(limits, "file system"), -1);          // nothing is read
  EXPECT_EQ(speed(limits, "host-to-device link"), -1);  // there is none
  EXPECT_EQ(speed(limits, "network"), -1);              // nothing is known of it
}

TEST(Limits, PrecisionThatTheDeviceLacksRunsInF32) {
  const auto compute = [](const char* precision, const char* tf32) {
    return speed(
        speed_limits(work_of(small(), with({{"train.precision", precision}, {"device.tf32", tf32}}), 1, 0), kGpu, {}),
        "compute");
  };
  EXPECT_NEAR(compute("bf16", "true") / compute("f32", "false"), 10, 1e-9);
  EXPECT_NEAR(compute("f16", "false") / compute("f32", "false"), 1, 1e-9);
}

TEST(Limits, ASlowNetworkBinds) {
  const auto limits = speed_limits(work_of(small(), with({}), 2, 0), kGpu, {.ranks = 2, .network_gbit_s = 1e-6});
  EXPECT_EQ(binding(limits)->what, "network");
  EXPECT_NEAR(speed(limits, "network"), 20 * 125 / 100.0, 1e-9);
  MachineRates measured = kCpu;
  measured.allreduce_gb_s = 1;
  measured.allreduce_us = 10;  // as long as 10,000 bytes
  EXPECT_NEAR(speed(speed_limits(work_of(small(), with({}), 2, 0), measured, {.ranks = 2}), "network"),
              20 * 1e9 / 10'100, 1e-3);
}

TEST(Limits, NothingKnownIsSaid) {
  EXPECT_EQ(binding({}), nullptr);
  EXPECT_EQ(verdict({}, 2), "no speed limit is known");
  EXPECT_TRUE(speed_limits(work_of(small(), with({}), 1, 0), {}, {}).empty());
}

TEST(Limits, MemoryOfAGpu) {
  const MemoryNeed need = memory_need(small(), with({}), kGpu, {.ranks = 4, .memory = 600'001'000});
  EXPECT_EQ(need.activations, 100);  // 10 samples
  EXPECT_EQ(need.peak, 300);
  EXPECT_EQ(need.rank, 600'000'300);
  EXPECT_EQ(need.largest_batch, 80 * 4);  // 200 + 80 * 10 on each
  EXPECT_EQ(memory_need(small(), with({}), kGpu, {.memory = 600'000'299}).largest_batch, 0);
  EXPECT_EQ(memory_need(small(), with({}), kGpu, {}).available, 16e9);
}

TEST(Limits, RanksShareTheMemoryOfAMachine) {
  const TrainingOptions options = with({{"train.accumulate", "2"}});
  DryRun known = small();
  known.program_bytes = 1000;
  const MemoryNeed need = memory_need(known, options, kCpu, {.ranks = 2, .memory = 10'000});
  EXPECT_EQ(need.available, 5000);
  EXPECT_EQ(need.ahead, 3 * 32 * 20);
  // 200 + 10 n for a pass, and 3 * 32 * 2 n for the batches that wait: 4000 hold 18.
  EXPECT_EQ(need.largest_batch, 18 * 2 * 2);
  EXPECT_EQ(memory_need(small(), options, kCpu, {}).largest_batch, 0);
  EXPECT_EQ(memory_need(small(), options, kCpu, {}).available, 0);
}

TEST(Limits, ACheckpointOnItsWayTakesMemoryOfTheHost) {
  const TrainingOptions options = with({{"checkpoint.every", "10min"}});
  const Spread spread{.ranks = 2, .memory = 10'000};
  const MemoryNeed need = memory_need(small(), options, kCpu, spread),
                   without = memory_need(small(), with({}), kCpu, spread);
  EXPECT_EQ(need.checkpoint, 200);
  EXPECT_EQ(need.rank, without.rank + 200);
  EXPECT_LT(need.largest_batch, without.largest_batch);
  EXPECT_EQ(
      memory_need(small(), with({{"checkpoint.every", "5"}, {"checkpoint.sharded", "true"}}), kCpu, spread).checkpoint,
      100);
  EXPECT_EQ(memory_need(small(), options, kGpu, spread).rank, memory_need(small(), with({}), kGpu, spread).rank);
}

TEST(Limits, MoreRanksThanSamplesIsWrongInput) {
  EXPECT_THROW(work_of(small(), with({}), 41, 0), Error);
  EXPECT_THROW(memory_need(small(), with({{"train.accumulate", "3"}}), kCpu, {.ranks = 14}), Error);
}

TEST(Limits, ReadsAsTextAndAsJson) {
  const TrainingOptions options = with({});
  const Spread spread{.ranks = 2, .memory = 4'000'000'000};
  Limits limits{.model = "small", .batch = 40, .spread = spread, .machine = kGpu};
  limits.asked = {.known = small(),
                  .memory = memory_need(small(), options, kGpu, spread),
                  .speeds = speed_limits(work_of(small(), options, 2, 0), kGpu, spread)};
  limits.other = limits.asked;
  limits.other->recompute = true;
  const std::string text = to_text(limits);
  for (const char* part :
       {"small: 25 parameters, 1 x 2 x 3 inputs, batch 40 on 2 ranks; a GPU", "optimizer state", "the recipe's 40 fits",
        "compute is the limit: at most", "model.recompute = true: activations 200 B"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  const auto json = to_json(limits);
  EXPECT_EQ(json["asked"]["binding"], "compute");
  EXPECT_EQ(json["asked"]["bytes"]["gradients"], 100);
  EXPECT_EQ(json["other"]["recompute"], true);
}

TEST(Stored, BytesOfFilesASample) {
  const ronde::tests::Folder folder;
  std::ofstream(folder.path() / "a") << std::string(1000, 'x');
  std::filesystem::create_directory(folder.path() / "b");
  std::ofstream(folder.path() / "b" / "c") << std::string(500, 'x');
  EXPECT_EQ(stored_bytes(folder.path(), 100), 15);
  EXPECT_EQ(stored_bytes(folder.path() / "a", 100), 10);
  EXPECT_EQ(stored_bytes(folder.path() / "none", 100), 0);
  EXPECT_EQ(stored_bytes("", 100), 0);
  EXPECT_EQ(stored_bytes(folder.path() / "b", 100, 1), 5);
  std::ofstream(folder.path() / "b" / "d") << std::string(500, 'x');
  EXPECT_EQ(stored_bytes(folder.path() / "b", 1'000'000, 1), 500);  // one a sample
}

}  // namespace
}  // namespace ronde::train
