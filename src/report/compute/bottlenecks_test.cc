#include "ronde/report/compute/bottlenecks.h"

#include <gtest/gtest.h>

#include "ronde/report/json/json_parts.h"
#include "ronde/report/testing/make_run.h"

namespace ronde::report {
namespace {

using testing::MakeRun;

constexpr std::int64_t kMs = 1'000'000;

// One step of each of two ranks, in milliseconds.
struct Plan {
  std::int64_t forward = 200, backward = 300, communication = 100, optimizer = 100, input = 300;
};

trace::Run make_run(const Plan& plan, int ranks = 2) {
  MakeRun make(ranks);
  const std::int64_t step_ms = plan.forward + plan.backward + plan.communication + plan.optimizer + plan.input;
  for (int rank = 0; rank < ranks; ++rank)
    for (std::int64_t step = 0; step < 10; ++step) {
      std::int64_t at = step * step_ms * kMs;
      const auto span = [&](const char* name, std::int64_t ms) {
        if (ms > 0) make.span(rank, "training", name, at, at + ms * kMs);
        at += ms * kMs;
      };
      make.step(rank, step, at, at + step_ms * kMs);
      span("wait for input", plan.input);
      span("forward", plan.forward);
      span("backward", plan.backward);
      const std::int64_t asked = at;
      span("wait for communication", plan.communication);
      if (plan.communication > 0) make.collective(rank, asked, asked, at, 1'000'000, static_cast<std::uint64_t>(step));
      span("optimizer", plan.optimizer);
    }
  return make.take();
}

// A rank's share of a batch: 1 GFLOP and 100 MB forward. Its node does 100 GFLOP/s and 20 GB/s for both ranks.
JobFacts job() {
  return {.precision = "f32",
          .optimizer = "sgd",
          .batch = 100,
          .parameters = 1'000'000,
          .memory_bytes = 1e9,
          .memory_limit_bytes = 3e9,
          .layers = {{.name = "a", .operation = "conv2d", .flops = 9e8, .bytes = 4e7},
                     {.name = "b", .operation = "linear", .flops = 1e8, .bytes = 6e7}}};
}
MachineRates node() {
  return {.name = "node", .f32 = 0.1, .memory_gb_s = 20};
}

std::vector<Bottleneck> find(const trace::Run& run, const JobFacts& facts, const MachineRates& machine,
                             const MeasuredAllreduce& measured = {}) {
  const Window window = window_of(run);
  std::vector<std::string> problems;
  const auto input = input_limit_of(run, window, facts, window.seconds(), problems);
  const Collectives collectives = collectives_of(run, window, measured);
  const StepTable steps = steps_of(run, window);
  return bottlenecks_of({run, window, facts, machine, steps, input, collectives, measured});
}

std::string binding(const std::vector<Bottleneck>& all) {
  std::string names;
  for (const Bottleneck& each : all)
    if (each.binds) names += each.name;
  return names;
}

TEST(Bottlenecks, EachHasTheSpeedThatItWouldAllow) {
  JobFacts facts = job();
  facts.memory_limit_bytes = 1.5e9;
  const auto all = find(make_run({.communication = 200, .input = 200}), facts, node());
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].name, "compute");
  EXPECT_NEAR(all[0].samples_per_second, 100 * 50e9 / 3e9, 1e-6);  // forward once, backward twice
  EXPECT_EQ(all[0].text, "At most 1667 samples/s: 0.06 GFLOP per sample at 50 GFLOP/s per rank in f32.");
  EXPECT_EQ(all[1].name, "memory bandwidth");
  EXPECT_NEAR(all[1].samples_per_second, 100 * 10e9 / 320e6, 1e-6);  // 300 MB, and 5 x 4 MB of the optimizer
  EXPECT_EQ(all[2].name, "memory size");
  // The model takes 12 MB: 988 MB for 100 samples, 1488 MB for 150; 200 ms of communication and 100 of the optimizer.
  EXPECT_NEAR(all[2].samples_per_second, 150 / 0.3, 1e-6);
  EXPECT_EQ(all[3].name, "input");
  EXPECT_NEAR(all[3].samples_per_second, 100, 1e-6);  // all steps wait for it: 1000 in 10 s
  EXPECT_EQ(all[4].name, "communication");
  EXPECT_NEAR(all[4].samples_per_second, 500, 1e-6);  // 200 ms a step
  EXPECT_EQ(binding(all), "input");
  EXPECT_EQ(to_json(all)[3]["binds"], true);
}

TEST(Bottlenecks, ACeilingFarAboveTheRunIsNone) {
  // 302 samples in 1 ms: 302,000 a second where the run does some 200.
  const auto all = find(make_run({.communication = 1, .optimizer = 0, .input = 0}), job(), node());
  EXPECT_FALSE(all[2].known);
  EXPECT_FALSE(all[2].limits);
  EXPECT_EQ(all[2].text,
            "It does not limit this run: 954 MiB of 2.8 GiB in use: a batch of 302 would fit, 3.0 times this one.");
  EXPECT_TRUE(to_json(all)[2]["samples_per_second"].is_null());
  EXPECT_EQ(to_json(all)[2]["limits"], false);
  EXPECT_EQ(binding(all), "compute");
}

// Of 601 ms of a step, an exchange takes 1 and the input's busiest stage works 6.
TEST(Bottlenecks, NeitherDoesInputOrCommunicationLimitFromAfar) {
  trace::Run run = make_run({.communication = 1, .input = 0});
  run.ranks[0].metadata["input stages"] =
      R"([{"name":"decode","busy_s":0.07,"waiting_input_s":0,"waiting_room_s":6.93,"items":10,"threads":1}])";
  const auto all = find(run, job(), node());
  EXPECT_EQ(all[3].text, "It does not limit this run: its busiest stage, 'decode', is busy 1.0 % of the time.");
  EXPECT_EQ(all[4].text, "It does not limit this run: 977 KiB per step take 1 ms in this run.");
  for (const Bottleneck& each : {all[3], all[4]}) {
    EXPECT_FALSE(each.known) << each.name;
    EXPECT_FALSE(each.limits) << each.name;
    EXPECT_FALSE(each.binds) << each.name;
  }
}

TEST(Bottlenecks, WhatTheRunSpendsItsTimeOnBinds) {
  // Computing alone takes 600 ms of 700: of its two ceilings memory's is higher.
  const auto computes = find(make_run({.input = 0}), job(), node());
  EXPECT_EQ(binding(computes), "compute");
  EXPECT_NE(computes[0].text.find("The run's own computing would allow 167 samples/s, 10 % of that."),
            std::string::npos)
      << computes[0].text;
  MachineRates narrow = node();
  narrow.memory_gb_s = 5;
  EXPECT_EQ(binding(find(make_run({.input = 0}), job(), narrow)), "memory bandwidth");
  EXPECT_EQ(binding(find(make_run({.communication = 900, .input = 0}), job(), node())), "communication");
  // Memory is full, and the optimizer takes most of a step: a batch that does not fit would spread its cost.
  JobFacts full = job();
  full.memory_limit_bytes = 1e9;
  EXPECT_EQ(binding(find(make_run({.forward = 10, .backward = 20, .optimizer = 900, .input = 0}), full, node())),
            "memory size");
}

// The program only launches: what devices need is their own.
TEST(Bottlenecks, ComputingIsThatOfTheDevicesWhereThereAreSome) {
  MakeRun make(1);
  for (std::int64_t step = 0; step < 10; ++step) {
    const std::int64_t at = step * 100 * kMs;
    make.step(0, step, at, at + 100 * kMs);
    make.span(0, "training", "launch step", at, at + kMs);
    make.span(0, "gpu 0 stream 7", "gemm", at, at + 80 * kMs, "kernel");
  }
  const auto all = find(make.take(), job(), node());
  EXPECT_NE(all[0].text.find("The run's own computing would allow 1250 samples/s"), std::string::npos) << all[0].text;
}

// What a graph launches, the engine does not see.
TEST(Bottlenecks, CollectivesOfDevicesAreCommunication) {
  MakeRun make(2);
  for (int rank = 0; rank < 2; ++rank)
    for (std::int64_t step = 0; step < 10; ++step) {
      const std::int64_t at = step * 100 * kMs;
      make.step(rank, step, at, at + 100 * kMs);
      make.span(rank, "training", "launch step", at, at + kMs);
      make.span(rank, "gpu 0 stream 7", "gemm", at, at + 40 * kMs, "kernel");
      make.span(rank, "gpu 0 stream 8", "ncclAllReduce", at + 40 * kMs, at + 90 * kMs, "collective");
    }
  const auto all = find(make.take(), job(), node());
  EXPECT_TRUE(all[4].known);
  EXPECT_NEAR(all[4].samples_per_second, 100 / 0.050, 1e-6);
  EXPECT_EQ(all[4].text, "At most 2000 samples/s: collectives take a device 50 ms a step in this run.");
  EXPECT_EQ(binding(all), "communication");
}

TEST(Bottlenecks, ACeilingThatTheRunIsAboveIsDoubted) {
  MachineRates slow = node();
  slow.f32 = 0.001;
  const auto all = find(make_run({.input = 0}), job(), slow);
  EXPECT_EQ(binding(all), "compute");
  EXPECT_NE(all[0].text.find("measured on another machine"), std::string::npos) << all[0].text;
}

TEST(Bottlenecks, MeasuredCommunicationCountsForItsCeiling) {
  const MeasuredAllreduce measured{.ranks = 2, .latency_us = 10'000, .gb_per_s = 0.1, .where = "by hand"};
  const auto all = find(make_run({.communication = 200, .input = 200}), job(), node(), measured);
  EXPECT_NEAR(all[4].samples_per_second, 100 / 0.020, 1e-6);  // 10 ms and 1 MB at 0.1 GB/s
  EXPECT_NE(all[4].text.find("20 ms as measured, 200 ms in this run"), std::string::npos) << all[4].text;
}

TEST(Bottlenecks, StagesTellWhatAnInputCouldDoThatKeepsUp) {
  trace::Run run = make_run({.input = 0});
  run.ranks[0].metadata["input stages"] =
      R"([{"name":"decode","busy_s":3,"waiting_input_s":0,"waiting_room_s":4.5,"items":10,"threads":1}])";
  const auto all = find(run, job(), node());
  // 1000 samples in 7 s, of which it worked 40 %.
  EXPECT_NEAR(all[3].samples_per_second, 1000 / 7.0 / 0.4, 1e-6);
  EXPECT_EQ(binding(all), "compute");
}

TEST(Bottlenecks, WhatIsNotKnownSaysWhatToDo) {
  const trace::Run alone = make_run({.communication = 0}, 1);
  const auto bare = find(alone, {}, {});
  for (const Bottleneck& each : bare) {
    EXPECT_FALSE(each.known) << each.name;
    EXPECT_FALSE(each.binds) << each.name;
    EXPECT_FALSE(each.text.empty()) << each.name;
  }
  EXPECT_TRUE(to_json(bare)[0]["samples_per_second"].is_null());
  const auto no_rates = find(alone, job(), {});
  EXPECT_NE(no_rates[0].text.find("ronde bench roofline"), std::string::npos);
  EXPECT_EQ(no_rates[4].text, "One rank: there is no communication.");
  EXPECT_EQ(binding(no_rates), "input");  // the run itself shows it
}

TEST(Bottlenecks, WithoutStepsCeilingsDecide) {
  MakeRun make(2);
  make.span(0, "training", "work", 0, 100);
  make.span(1, "training", "work", 0, 100);
  const auto all = find(make.take(), job(), node());
  EXPECT_TRUE(all[0].known);
  EXPECT_FALSE(all[3].known);
  EXPECT_EQ(binding(all), "compute");
}

TEST(LargestBatch, LeavesTheModelAlone) {
  JobFacts facts = job();
  EXPECT_EQ(largest_batch(facts), 302);
  facts.optimizer = "adamw";
  EXPECT_EQ(largest_batch(facts), 303);  // 16 MB: 984 MB for 100, 2984 for 303.25
  facts.memory_limit_bytes = 1e6;        // less than is in use: a limit that nobody kept
  EXPECT_EQ(largest_batch(facts), 0);
  facts = job();
  facts.parameters = 1'000'000'000;  // more than is in use: shards
  EXPECT_EQ(largest_batch(facts), 300);
  EXPECT_EQ(largest_batch({}), 0);
}

}  // namespace
}  // namespace ronde::report
