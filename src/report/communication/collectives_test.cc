#include "ronde/report/communication/collectives.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/report/json/json_parts.h"
#include "ronde/report/testing/make_run.h"

namespace ronde::report {
namespace {

using testing::MakeRun;

constexpr std::int64_t kMs = 1'000'000;

// Two ranks. Sequence 0: asked for at 10 and 30 ms, complete at 49 and 50: 20 ms for 1 MB. Sequence 1: asked for at 20
// and 40, while the first still moves; complete at 80: 30 ms from 50 on, for 3 MB. A broadcast: 5 ms for 1 kB.
MakeRun two_ranks() {
  MakeRun make(2);
  for (int rank = 0; rank < 2; ++rank) {
    const std::int64_t late = 20 * rank;
    make.step(rank, 0, 0, 100 * kMs);
    make.collective(rank, (10 + late) * kMs, (11 + late) * kMs, (49 + rank) * kMs, 1'000'000, 0);
    make.collective(rank, (20 + late) * kMs, 51 * kMs, 80 * kMs, 3'000'000, 1);
    make.collective(rank, 90 * kMs, 91 * kMs, 95 * kMs, 1000, 2, "world", "broadcast");
  }
  return make;
}

TEST(Collectives, BeginWithTheLastArrivalAndInTheirTurn) {
  const trace::Run run = two_ranks().take();
  const auto matched = matched_collectives(run, window_of(run));
  ASSERT_EQ(matched.size(), 3u);
  EXPECT_EQ(matched[0].arrival, 30 * kMs);
  EXPECT_EQ(matched[0].end, 50 * kMs);
  EXPECT_EQ(matched[0].members, 2);
  EXPECT_DOUBLE_EQ(matched[0].seconds(), 0.020);
  EXPECT_EQ(matched[1].begin, 50 * kMs);
  EXPECT_DOUBLE_EQ(matched[1].seconds(), 0.030);
  EXPECT_DOUBLE_EQ(matched[2].seconds(), 0.005);
}

TEST(Collectives, KindsHaveTheirBandwidthAndTheMeasuredOne) {
  const trace::Run run = two_ranks().take();
  const MeasuredAllreduce measured{.ranks = 2, .latency_us = 1000, .gb_per_s = 0.2, .where = "by hand"};
  const Collectives all = collectives_of(run, window_of(run), measured);
  ASSERT_EQ(all.kinds.size(), 2u);
  const CollectiveKind& allreduce = all.kinds[0];
  EXPECT_EQ(allreduce.name, "allreduce");
  EXPECT_EQ(allreduce.group, "world");
  EXPECT_EQ(allreduce.count, 2);
  EXPECT_DOUBLE_EQ(allreduce.bytes, 4e6);
  EXPECT_DOUBLE_EQ(allreduce.seconds, 0.05);
  EXPECT_NEAR(allreduce.bandwidth_gb_s, 0.08, 1e-12);
  EXPECT_NEAR(allreduce.measured_gb_s, 4e6 / 0.022 / 1e9, 1e-12);  // 1 ms and 5 ms, 1 ms and 15 ms
  EXPECT_EQ(all.kinds[1].measured_gb_s, 0);
  ASSERT_TRUE(all.fit);  // 20 ms for 1 MB, 30 ms for 3 MB: 15 ms and 5 ms a MB
  EXPECT_NEAR(all.fit->latency_us, 15'000, 1);
  EXPECT_NEAR(all.fit->bandwidth_gb_s, 0.2, 1e-5);
  EXPECT_NEAR(all.fit->crossover_bytes, 3e6, 300);
  EXPECT_NE(all.text.find("reaches 0.08 GB/s, 44 % of what these sizes reached when measured by hand."),
            std::string::npos)
      << all.text;
  const auto json = to_json(all);
  EXPECT_EQ(json["fit"]["points"][0][0], 1e6);
  EXPECT_NEAR(json["fit"]["points"][1][1].get<double>(), 0.03, 1e-12);
  EXPECT_TRUE(json["kinds"][1]["measured_gb_s"].is_null());
}

TEST(Collectives, WithoutCommonClocksTheLastToComeTells) {
  MakeRun make(2);
  make.step(0, 0, 0, 200);
  make.step(1, 0, 0, 200);
  make.collective(0, 10, 11, 60, 100, 0);
  make.collective(1, 90, 91, 120, 100, 0);  // its clock is 60 ahead: it came at 30, and 30 later it was complete
  trace::Run run = make.take();
  run.ranks[1].clock_shared = false;
  const auto matched = matched_collectives(run, window_of(run));
  ASSERT_EQ(matched.size(), 1u);
  EXPECT_EQ(matched[0].end - matched[0].begin, 30);
}

TEST(Collectives, OneRankAndMissingRanksAreNoReasonToFail) {
  MakeRun alone(1);
  alone.step(0, 0, 0, 100);
  trace::Run run = alone.take();
  const Collectives none = collectives_of(run, window_of(run), {});
  EXPECT_TRUE(none.kinds.empty());
  EXPECT_FALSE(none.fit);
  EXPECT_EQ(none.text, "One rank: there is no communication.");
  EXPECT_TRUE(to_json(none)["fit"].is_null());

  run = two_ranks().take();
  run.ranks.pop_back();
  const Collectives half = collectives_of(run, window_of(run), {});
  EXPECT_DOUBLE_EQ(half.kinds.at(0).seconds, 0.039 + 0.031);  // from 10 to 49, from 49 to 80
  EXPECT_NE(half.text.find("1 of 2 ranks left no trace"), std::string::npos) << half.text;
  EXPECT_NE(half.text.find("ronde bench allreduce --json"), std::string::npos) << half.text;
}

// What takes latency + n / bandwidth is found again through noise of a tenth and one in six that took far longer.
TEST(FitCollectives, RecoversLatencyAndBandwidth) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(0, 0.1);
    std::vector<CostPoint> points;
    for (int i = 0; i < 3000; ++i) {
      const double bytes = std::pow(2, 10 + random() % 15), us = 50 + bytes / 2.5e3;  // 50 us, 2.5 GB/s
      points.push_back({bytes, us * std::exp(noise(random)) * (random() % 6 == 0 ? 5 : 1)});
    }
    const auto fit = fit_collectives(points);
    ASSERT_TRUE(fit);
    EXPECT_EQ(fit->points.size(), 15u);
    EXPECT_NEAR(fit->latency_us, 50, 50 * 0.05) << seed;
    EXPECT_NEAR(fit->bandwidth_gb_s, 2.5, 2.5 * 0.05) << seed;
    EXPECT_NEAR(fit->crossover_bytes, 125e3, 125e3 * 0.1) << seed;
  }
}

// 20 us and 1 GB/s, each size often; and two sizes that were seen once, while the machine did something else.
TEST(FitCollectives, WhatWasSeenOftenCountsMore) {
  std::vector<CostPoint> points{{100, 9000}, {300'000, 60'000}};
  for (const double bytes : {4000.0, 64'000.0, 1'000'000.0}) points.insert(points.end(), 20, {bytes, 20 + bytes / 1e3});
  const auto fit = fit_collectives(points);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->latency_us, 20, 0.2);
  EXPECT_NEAR(fit->bandwidth_gb_s, 1, 0.01);
}

TEST(FitCollectives, SaysNothingOfEqualSizes) {
  EXPECT_FALSE(fit_collectives({}));
  EXPECT_FALSE(fit_collectives({{1000, 1}, {1000, 2}}));
  EXPECT_FALSE(fit_collectives({{1000, 1}, {1500, 2}}));
  EXPECT_FALSE(fit_collectives({{0, 1}, {1000, 0}, {1000, 2}}));
  EXPECT_TRUE(fit_collectives({{1000, 1}, {4000, 2}}));
}

TEST(FitCollectives, ASlopeThatDoesNotShowIsNoBandwidth) {
  const auto fit = fit_collectives({{1000, 30}, {4000, 30}, {16000, 30}, {64000, 30}});
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->latency_us, 30, 1e-6);
  EXPECT_EQ(fit->bandwidth_gb_s, 0);
  EXPECT_EQ(fit->crossover_bytes, 0);
}

TEST(Collectives, WithoutNumbersMeetInTheirOrder) {
  MakeRun make(2);
  for (int rank = 0; rank < 2; ++rank) {
    make.step(rank, 0, 0, 100);
    for (std::int64_t at : {10, 30, 50}) make.collective(rank, at + rank, at + 5, at + 9, 100, 0);
  }
  const trace::Run run = make.take();
  const auto matched = matched_collectives(run, window_of(run));
  ASSERT_EQ(matched.size(), 3u);
  EXPECT_EQ(matched[2].begin, 51);
  EXPECT_EQ(matched[2].end, 59);
  EXPECT_EQ(matched[2].members, 2);
}

TEST(MeasuredAllreduce, IsReadFromTheBenchmarksOutput) {
  const MeasuredAllreduce measured = parse_allreduce(
      R"({"bench":"allreduce","version":1,"rows":[
          {"ranks":4,"bytes":4000,"dtype":"f32","memory":"heap","median_us":30,"link_us":null},
          {"ranks":4,"bytes":1000,"dtype":"f32","memory":"heap","median_us":10},
          {"ranks":4,"bytes":1000,"dtype":"f32","memory":"shared","median_us":5},
          {"ranks":4,"bytes":1000,"dtype":"bf16","memory":"heap","median_us":7},
          {"ranks":4,"bytes":9000,"dtype":"f32","memory":"heap","median_us":null}]})",
      "a.json");
  EXPECT_EQ(measured.ranks, 4);
  ASSERT_EQ(measured.points.size(), 2u);
  EXPECT_DOUBLE_EQ(measured.us(10), 10);
  EXPECT_DOUBLE_EQ(measured.us(1000), 10);
  EXPECT_DOUBLE_EQ(measured.us(2500), 20);
  EXPECT_DOUBLE_EQ(measured.us(8000), 60);
  for (const char* text : {"", "[]", "{}", R"({"bench":"step","rows":[]})", R"({"bench":"allreduce"})",
                           R"({"bench":"allreduce","rows":[1, {}]})",
                           R"({"bench":"allreduce","rows":[{"ranks":2,"bytes":-4,"median_us":1}]})"})
    EXPECT_THROW(parse_allreduce(text, "a.json"), Error) << text;
}

TEST(MeasuredAllreduce, OrFromTheMachinesRates) {
  EXPECT_FALSE(measured_allreduce({}).known());
  const MeasuredAllreduce measured =
      measured_allreduce({.name = "", .allreduce_ranks = 8, .allreduce_us = 20, .allreduce_gb_s = 4});
  EXPECT_TRUE(measured.known());
  EXPECT_DOUBLE_EQ(measured.us(4e6), 1020);
}

}  // namespace
}  // namespace ronde::report
