#include "ronde/report/run/machine_of_run.h"

#include <gtest/gtest.h>

#include "ronde/base/system/rates_file.h"
#include "ronde/report/testing/make_run.h"

namespace ronde::report {
namespace {

constexpr const char* kProcessor = "AMD EPYC 7742 64-Core Processor";

const MachineRates kOfRun{.name = "measured on a", .f32 = 1, .memory_gb_s = 10};
const MachineRates kHere{.name = std::string("measured on b: ") + kProcessor,
                         .f32 = 2,
                         .memory_gb_s = 20,
                         .disk_gb_s = 3,
                         .allreduce_ranks = 4,
                         .allreduce_us = 5,
                         .allreduce_gb_s = 6};

JobFacts facts_from(const std::string& rates, std::vector<std::string>& problems, int rank = 0) {
  testing::MakeRun make(2);
  make.span(0, "training", "forward", 0, 100);
  make.metadata(rank, "machine rates", rates);
  make.metadata(0, "job", std::string("{\"network\": \"x\", \"processor\": \"") + kProcessor + "\"}");
  return facts_of(make.take(), problems);
}

TEST(MachineOfRun, WhatTheRunMeasuredIsInItsTrace) {
  std::vector<std::string> problems;
  for (const int rank : {0, 1}) {
    const JobFacts facts = facts_from(rates_to_json(kOfRun).dump(), problems, rank);
    EXPECT_EQ(facts.rates, kOfRun);
    EXPECT_EQ(machine_of_run(facts, {}), kOfRun);
  }
  EXPECT_TRUE(problems.empty());
}

TEST(MachineOfRun, TheUsersWordGoesFirst) {
  std::vector<std::string> problems;
  const JobFacts facts = facts_from(rates_to_json(kOfRun).dump(), problems);
  const MachineRates said{.name = "said", .f32 = 9};
  EXPECT_EQ(machine_of_run(facts, {.said = said, .measured_here = kHere}), said);
}

TEST(MachineOfRun, DiskAndAllreduceComeFromTheBenchmark) {
  std::vector<std::string> problems;
  JobFacts facts = facts_from(rates_to_json(kOfRun).dump(), problems);
  const auto both = machine_of_run(facts, {.measured_here = kHere});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->f32, kOfRun.f32);
  EXPECT_EQ(both->allreduce_gb_s, kHere.allreduce_gb_s);
  EXPECT_EQ(both->disk_gb_s, kHere.disk_gb_s);
  facts.processor = "another";
  EXPECT_EQ(machine_of_run(facts, {.measured_here = kHere}), kOfRun);
}

TEST(MachineOfRun, WithoutThemTheBenchmarkOrWhatIsPublished) {
  JobFacts facts{.processor = kProcessor};
  EXPECT_EQ(machine_of_run(facts, {.measured_here = kHere}), kHere);
  const auto published = machine_of_run(facts, {.measured_here = kOfRun});
  ASSERT_TRUE(published);
  EXPECT_GT(published->f32, 0);
  EXPECT_NE(published->name, kOfRun.name);
  facts.processor = "a processor that nobody knows";
  EXPECT_FALSE(machine_of_run(facts, {.measured_here = kHere}));
  EXPECT_FALSE(machine_of_run({}, {.measured_here = kHere}));
}

TEST(MachineOfRun, RatesThatMakeNoSenseAreAProblemAndNotAnError) {
  for (const char* text : {"{", "[]", "{}", "{\"roofline\": 1, \"name\": 3}"}) {
    std::vector<std::string> problems;
    EXPECT_FALSE(facts_from(text, problems).rates) << text;
    ASSERT_EQ(problems.size(), 1u) << text;
    EXPECT_NE(problems[0].find("rank 0 recorded about 'machine rates'"), std::string::npos) << problems[0];
  }
}

}  // namespace
}  // namespace ronde::report
