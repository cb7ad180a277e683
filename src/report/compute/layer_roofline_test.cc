#include "ronde/report/compute/layer_roofline.h"

#include <gtest/gtest.h>

#include "ronde/report/json/json_parts.h"
#include "ronde/report/testing/make_run.h"

namespace ronde::report {
namespace {

using testing::MakeRun;

constexpr std::int64_t kMs = 1'000'000;

// Two ranks on one node have half of it each: 1 TFLOP/s and 100 GB/s, which meet at 10 operations a byte.
MachineRates node() {
  return {.name = "node0", .f32 = 2, .memory_gb_s = 200};
}

// conv: 40 operations a byte; norm, in two steps of which the second does more: 1.
JobFacts facts() {
  return {.network = "net",
          .layers = {{.name = "conv", .operation = "conv2d", .flops = 4e9, .bytes = 1e8},
                     {.name = "norm", .operation = "mean", .flops = 2e7, .bytes = 5e7},
                     {.name = "norm", .operation = "batch_norm", .flops = 8e7, .bytes = 5e7},
                     {.name = "relu", .operation = "relu", .flops = 1e7, .bytes = 1e8}}};
}

// A step of 1 s. Forward 0..100 ms: conv 40, norm 20. Backward 100..400: conv 100 of which 30 are waiting, norm 50.
// Then evaluation, which is not training.
MakeRun two_ranks(bool modules) {
  MakeRun make(2);
  for (int rank = 0; rank < 2; ++rank) {
    make.step(rank, 0, 0, 1000 * kMs);
    make.span(rank, "training", "forward", 0, 100 * kMs);
    make.span(rank, "training", "backward", 100 * kMs, 400 * kMs);
    make.span(rank, "training", "wait for communication", 150 * kMs, 180 * kMs);
    make.span(rank, "training", "evaluate", 500 * kMs, 900 * kMs);
    make.span(rank, "training", "forward", 510 * kMs, 800 * kMs);
    if (!modules) continue;
    make.span(rank, "training", "conv", 0, 40 * kMs, "module");
    make.span(rank, "training", "norm", 50 * kMs, 70 * kMs, "module");
    make.span(rank, "training", "conv", 100 * kMs, 200 * kMs, "module");
    make.span(rank, "training", "norm", 200 * kMs, 250 * kMs, "module");
    make.span(rank, "training", "conv", 520 * kMs, 700 * kMs, "module");
  }
  return make;
}

TEST(LayerRoofline, LayersHaveTheirPlaceUnderTheRoof) {
  const trace::Run run = two_ranks(true).take();
  const auto roofline = layer_roofline_of(run, window_of(run), facts(), node());
  ASSERT_TRUE(roofline);
  EXPECT_DOUBLE_EQ(roofline->rates.flops, 1e12);
  EXPECT_DOUBLE_EQ(roofline->rates.bytes, 1e11);
  ASSERT_EQ(roofline->layers.size(), 2u);  // no span is called relu
  const LayerPoint& conv = roofline->layers[0];
  EXPECT_NEAR(conv.seconds, 2 * 0.110, 1e-12);  // 40 + 100 - 30 ms a rank
  EXPECT_DOUBLE_EQ(conv.intensity(), 40);
  EXPECT_NEAR(conv.flops_per_second(), 12e9 / 0.110, 1);  // forward once, backward twice
  EXPECT_NEAR(conv.share, 0.110 / 0.370, 1e-12);
  EXPECT_EQ(conv.bound, "compute");
  const LayerPoint& norm = roofline->layers[1];
  EXPECT_EQ(norm.operation, "batch_norm");
  EXPECT_DOUBLE_EQ(norm.intensity(), 1);
  EXPECT_NEAR(norm.flops_per_second(), 3e8 / 0.070, 1);
  EXPECT_EQ(norm.bound, "memory");
  EXPECT_DOUBLE_EQ(roofline->roof(1), 1e11);
  EXPECT_DOUBLE_EQ(roofline->roof(40), 1e12);
  EXPECT_EQ(roofline->text,
            "'conv' takes most, 30 % of forward and backward, and reaches 109 GFLOP/s per rank, 11 % of what compute "
            "allows it.");
}

TEST(LayerRoofline, WithoutModulesTheNetworkIsOneLayer) {
  const trace::Run run = two_ranks(false).take();
  const auto roofline = layer_roofline_of(run, window_of(run), facts(), node());
  ASSERT_TRUE(roofline);
  ASSERT_EQ(roofline->layers.size(), 1u);
  EXPECT_EQ(roofline->layers[0].name, "net");
  EXPECT_NEAR(roofline->layers[0].flops_per_second(), 3 * 4.11e9 / 0.370, 1);
  EXPECT_NEAR(roofline->layers[0].intensity(), 4.11e9 / 3e8, 1e-9);
  EXPECT_DOUBLE_EQ(roofline->layers[0].share, 1);
  EXPECT_NE(roofline->text.find("trace.modules=true"), std::string::npos);
}

TEST(LayerRoofline, ComputationIsTimeAtTheRoofsOverTime) {
  const trace::Run layers = two_ranks(true).take(), network = two_ranks(false).take();
  // At its roof conv would take 12 of 110 ms, norm 3 of 70: what is compute bound and what memory bound.
  const auto by_layer = layer_roofline_of(layers, window_of(layers), facts(), node());
  EXPECT_TRUE(by_layer->by_layer);
  EXPECT_NEAR(computation_of(*by_layer)->value, 15.0 / 180, 1e-9);
  const auto whole = layer_roofline_of(network, window_of(network), facts(), node());
  EXPECT_FALSE(whole->by_layer);
  EXPECT_NEAR(computation_of(*whole)->value, 3 * 4.11e9 / 1e12 / 0.370, 1e-9);
  const auto blind = layer_roofline_of(layers, window_of(layers), facts(), {});
  EXPECT_FALSE(computation_of(*blind)) << "no ceilings";
  JobFacts on_gpu = facts();
  on_gpu.device = "H200";
  const auto steps = layer_roofline_of(layers, window_of(layers), on_gpu, node());
  EXPECT_TRUE(steps->whole_steps);
  EXPECT_FALSE(computation_of(*steps)) << "steps are not computing alone";
  MachineRates slow = node();
  slow.f32 = 0.001;
  const auto doubted = layer_roofline_of(network, window_of(network), facts(), slow);
  EXPECT_FALSE(computation_of(*doubted)) << "nobody is faster than the machine";
  EXPECT_NE(doubted->text.find("more than compute was measured to allow: the machine was busy then"), std::string::npos)
      << doubted->text;
}

TEST(LayerRoofline, ABatchInPiecesCountsOnce) {
  MakeRun make(1);
  make.step(0, 0, 0, 400 * kMs);
  for (std::int64_t at : {0, 200}) {  // two passes forward and backward; the layer is used twice in each
    make.span(0, "training", "forward", at * kMs, (at + 100) * kMs);
    make.span(0, "training", "conv", at * kMs, (at + 10) * kMs, "module");
    make.span(0, "training", "conv", (at + 20) * kMs, (at + 30) * kMs, "module");
    make.span(0, "training", "backward", (at + 100) * kMs, (at + 200) * kMs);
    make.span(0, "training", "conv", (at + 100) * kMs, (at + 140) * kMs, "module");
  }
  const trace::Run run = make.take();
  const auto roofline = layer_roofline_of(run, window_of(run), facts(), node());
  ASSERT_TRUE(roofline);
  EXPECT_DOUBLE_EQ(roofline->layers.at(0).flops, 12e9);
  EXPECT_NEAR(roofline->layers.at(0).seconds, 0.120, 1e-12);
}

TEST(LayerRoofline, ModulesInsideModulesHaveTheirOwnTime) {
  MakeRun make(1);
  make.step(0, 0, 0, 100 * kMs);
  make.span(0, "training", "forward", 0, 100 * kMs);
  make.span(0, "training", "conv", 0, 60 * kMs, "module");
  make.span(0, "training", "addmm", 5 * kMs, 45 * kMs, "operator");  // is part of conv, but not of what is inside it
  make.span(0, "training", "norm", 10 * kMs, 40 * kMs, "module");
  const trace::Run run = make.take();
  const auto roofline = layer_roofline_of(run, window_of(run), facts(), node());
  ASSERT_TRUE(roofline);
  EXPECT_NEAR(roofline->layers.at(0).seconds, 0.030, 1e-12);
  EXPECT_NEAR(roofline->layers.at(1).seconds, 0.030, 1e-12);
  EXPECT_DOUBLE_EQ(roofline->layers.at(0).flops, 4e9);  // forward alone
}

TEST(LayerRoofline, ADevicesTimeIsThatOfItsKernels) {
  MakeRun make = two_ranks(true);
  for (int rank = 0; rank < 2; ++rank) {
    make.span(rank, "gpu 0 stream 7", "gemm", 0, 600 * kMs, "kernel");
    make.span(rank, "gpu 0 stream 8", "gemm", 500 * kMs, 700 * kMs, "kernel");
  }
  const trace::Run run = make.take();
  MachineRates gpu = node();
  gpu.kind = Hardware::Kind::Gpu;
  const auto roofline = layer_roofline_of(run, window_of(run), facts(), gpu);
  ASSERT_TRUE(roofline);
  EXPECT_DOUBLE_EQ(roofline->rates.flops, 2e12);  // its own
  ASSERT_EQ(roofline->layers.size(), 1u);
  EXPECT_NEAR(roofline->layers[0].seconds, 2 * 0.7, 1e-12);
  JobFacts cuda = facts();
  cuda.device = "cuda";
  const trace::Run bare = two_ranks(true).take();
  EXPECT_NEAR(layer_roofline_of(bare, window_of(bare), cuda, gpu)->layers.at(0).seconds, 2 * 1.0, 1e-12);
}

TEST(LayerRoofline, AStepThatIsLaunchedAtOnceIsBothPasses) {
  const auto flops_of = [](bool at_once) {
    MakeRun make(1);
    for (std::int64_t step = 0; step < 3; ++step) {
      const std::int64_t at = step * 100 * kMs;
      make.step(0, step, at, at + 100 * kMs);
      const bool launched = at_once && step > 0;
      if (at_once && step == 1) {  // nothing of it runs
        make.span(0, "training", "record step", at, at + 40 * kMs);
        make.span(0, "training", "forward", at + 10 * kMs, at + 20 * kMs);
        make.span(0, "training", "backward", at + 20 * kMs, at + 30 * kMs);
      }
      if (launched) make.span(0, "training", "launch step", at + 50 * kMs, at + 51 * kMs);
      for (std::int64_t piece = 0; piece < (launched ? 0 : 2); ++piece) {
        make.span(0, "training", "forward", at + 30 * piece * kMs, at + (30 * piece + 10) * kMs);
        make.span(0, "training", "backward", at + (30 * piece + 10) * kMs, at + (30 * piece + 30) * kMs);
      }
      make.span(0, "gpu 0 stream 7", "gemm", at, at + 90 * kMs, "kernel");
    }
    const trace::Run run = make.take();
    return layer_roofline_of(run, window_of(run), facts(), node())->layers.at(0).flops;
  };
  EXPECT_GT(flops_of(true), 0);
  EXPECT_DOUBLE_EQ(flops_of(true), flops_of(false));
}

TEST(LayerRoofline, WhatIsNotKnownIsSaid) {
  const trace::Run run = two_ranks(true).take();
  EXPECT_FALSE(layer_roofline_of(run, window_of(run), {}, node()));
  const auto roofline = layer_roofline_of(run, window_of(run), facts(), {});
  ASSERT_TRUE(roofline);
  EXPECT_EQ(roofline->layers[0].bound, "");
  EXPECT_NE(roofline->text.find("ronde bench roofline"), std::string::npos);
  EXPECT_TRUE(to_json(*roofline)["flops_ceiling"].is_null());
  MakeRun make(1);
  make.step(0, 0, 0, 10);
  const trace::Run empty = make.take();
  EXPECT_FALSE(layer_roofline_of(empty, window_of(empty), facts(), node()));
}

TEST(LayerRoofline, ProductsOfAGpuRunInTf32UnlessItIsOff) {
  const trace::Run run = two_ranks(true).take();
  const MachineRates gpu{.name = "Card", .kind = Hardware::Kind::Gpu, .f32 = 2, .tf32 = 8, .memory_gb_s = 200};
  JobFacts job = facts();
  EXPECT_DOUBLE_EQ(rank_rates(run, job, gpu).flops, 8e12);
  EXPECT_EQ(rank_rates(run, job, gpu).arithmetic, "tf32");
  job.settings["device.tf32"] = "off";
  EXPECT_DOUBLE_EQ(rank_rates(run, job, gpu).flops, 2e12);
}

TEST(LayerRoofline, NarrowValuesTakeHalfTheBytes) {
  const trace::Run run = two_ranks(true).take();
  JobFacts narrow = facts();
  narrow.precision = "bf16";
  MachineRates machine = node();
  machine.bf16 = 8;
  const auto roofline = layer_roofline_of(run, window_of(run), narrow, machine);
  ASSERT_TRUE(roofline);
  EXPECT_DOUBLE_EQ(roofline->layers[0].intensity(), 80);
  EXPECT_DOUBLE_EQ(roofline->rates.flops, 4e12);
  EXPECT_EQ(roofline->rates.arithmetic, "bf16");
}

}  // namespace
}  // namespace ronde::report
