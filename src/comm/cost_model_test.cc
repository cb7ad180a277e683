#include "ronde/comm/cost_model.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::comm {
namespace {

std::vector<CostPoint> points_on(double latency_us, double us_per_byte) {
  std::vector<CostPoint> points;
  for (double bytes = 4; bytes < 3e8; bytes *= 4) points.push_back({bytes, latency_us + bytes * us_per_byte});
  return points;
}

TEST(FitCost, FindsTheLineItself) {
  const CostFit fit = fit_cost(points_on(12.5, 1e-4));
  EXPECT_NEAR(fit.latency_us, 12.5, 1e-6);
  EXPECT_NEAR(fit.gb_per_s(), 10, 1e-6);
  EXPECT_LT(fit.error, 1e-9);
}

TEST(FitCost, ToleratesNoise) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(0, 0.05);
    std::vector<CostPoint> points;
    for (int repetition = 0; repetition < 3; ++repetition)
      for (CostPoint point : points_on(30, 2e-3)) points.push_back({point.bytes, point.us * std::exp(noise(random))});
    const CostFit fit = fit_cost(points);
    EXPECT_NEAR(fit.latency_us, 30, 30 * 0.06) << seed;
    EXPECT_NEAR(fit.us_per_byte, 2e-3, 2e-3 * 0.06) << seed;
    EXPECT_LT(fit.error, 0.08);
  }
}

// One measurement in five took several times as long, or came from another world and took a tenth.
TEST(FitCost, ToleratesOutliers) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(0, 0.02);
    std::vector<CostPoint> points;
    for (int repetition = 0; repetition < 3; ++repetition)
      for (CostPoint point : points_on(8, 5e-4)) {
        double us = point.us * std::exp(noise(random));
        if (points.size() % 5 == 2) us *= random() % 3 == 0 ? 0.1 : 3 + static_cast<double>(random() % 20);
        points.push_back({point.bytes, us});
      }
    const CostFit fit = fit_cost(points);
    EXPECT_NEAR(fit.latency_us, 8, 8 * 0.05) << seed;
    EXPECT_NEAR(fit.us_per_byte, 5e-4, 5e-4 * 0.05) << seed;
  }
}

TEST(FitCost, NothingIsNegative) {
  const CostFit steep = fit_cost(std::vector<CostPoint>{{1000, 1}, {2000, 5}});
  EXPECT_EQ(steep.latency_us, 0);
  EXPECT_GT(steep.us_per_byte, 0);
  const CostFit falling = fit_cost(std::vector<CostPoint>{{1000, 5}, {2000, 4}});
  EXPECT_NEAR(falling.latency_us, 4.5, 0.51);
  EXPECT_EQ(falling.us_per_byte, 0);
  EXPECT_EQ(falling.gb_per_s(), 0);
}

TEST(FitCost, WhatCannotBeFittedIsSaid) {
  EXPECT_THROW(fit_cost({}), Error);
  EXPECT_THROW(fit_cost(std::vector<CostPoint>{{4, 1}}), Error);
  EXPECT_THROW(fit_cost(std::vector<CostPoint>{{4, 1}, {4, 2}}), Error);
  EXPECT_THROW(fit_cost(std::vector<CostPoint>{{4, 1}, {8, 0}}), Error);
  EXPECT_THROW(fit_cost(std::vector<CostPoint>{{4, 1}, {8, std::nan("")}}), Error);
}

constexpr CostModel::Place kTwoNodes{.ranks = 8, .nodes = 2};

CostModel three_algorithms() {
  CostModel model;
  model.add(kTwoNodes, "ring", {.latency_us = 400, .us_per_byte = 1e-3});
  model.add(kTwoNodes, "doubling", {.latency_us = 50, .us_per_byte = 8e-3});
  model.add(kTwoNodes, "direct", {.latency_us = 100, .us_per_byte = 2e-3});
  model.add(kTwoNodes, "never", {.latency_us = 390, .us_per_byte = 1.9e-3});
  return model;
}

TEST(CostModel, RangesAreWhereTheLinesCross) {
  const auto ranges = three_algorithms().ranges(kTwoNodes);
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(ranges[0].algorithm, "doubling");
  EXPECT_EQ(ranges[0].from_bytes, 0);
  EXPECT_EQ(ranges[1].algorithm, "direct");
  EXPECT_NEAR(ranges[1].from_bytes, 50 / 6e-3, 1e-6);
  EXPECT_EQ(ranges[2].algorithm, "ring");
  EXPECT_NEAR(ranges[2].from_bytes, 300 / 1e-3, 1e-6);
}

TEST(CostModel, ChoosesWhatItsRangesSay) {
  const CostModel model = three_algorithms();
  const auto ranges = model.ranges(kTwoNodes);
  for (std::size_t bytes = 1; bytes < std::size_t{1} << 32; bytes = bytes * 3 / 2 + 1) {
    std::string expected;
    for (const auto& range : ranges)
      if (static_cast<double>(bytes) >= range.from_bytes) expected = range.algorithm;
    EXPECT_EQ(model.choose(bytes, kTwoNodes), expected) << bytes;
  }
}

TEST(CostModel, AnUnknownPlaceIsJudgedByTheOneMostLikeIt) {
  CostModel model;
  EXPECT_EQ(model.choose(1, kTwoNodes), "");
  EXPECT_TRUE(model.ranges(kTwoNodes).empty());
  model.add({.ranks = 4, .nodes = 1}, "shm", {.latency_us = 1, .us_per_byte = 1e-4});
  model.add({.ranks = 4, .nodes = 2}, "four", {.latency_us = 1, .us_per_byte = 1});
  model.add({.ranks = 64, .nodes = 2}, "many", {.latency_us = 1, .us_per_byte = 1});
  model.add({.ranks = 64, .nodes = 16}, "wide", {.latency_us = 1, .us_per_byte = 1});
  EXPECT_EQ(model.choose(1, {.ranks = 64, .nodes = 1}), "shm");
  EXPECT_EQ(model.choose(1, {.ranks = 6, .nodes = 2}), "four");
  EXPECT_EQ(model.choose(1, {.ranks = 32, .nodes = 2}), "many");
  EXPECT_EQ(model.choose(1, {.ranks = 32, .nodes = 8}), "wide");
}

TEST(CostModel, ALaterMeasurementReplacesAnEarlierOne) {
  CostModel model = three_algorithms();
  model.add(kTwoNodes, "ring", {.latency_us = 1, .us_per_byte = 1e-6});
  ASSERT_EQ(model.ranges(kTwoNodes).size(), 1u);
  EXPECT_EQ(model.choose(4, kTwoNodes), "ring");
  EXPECT_EQ(model.algorithms(kTwoNodes).size(), 4u);
}

TEST(CostModel, ReadsAsATable) {
  EXPECT_EQ(three_algorithms().text(),
            "ranks  nodes     from       to  algorithm   latency  bandwidth\n"
            "    8      2      0 B  8.1 KiB  doubling    50.0 us  0.12 GB/s\n"
            "    8      2  8.1 KiB  293 KiB  direct     100.0 us  0.50 GB/s\n"
            "    8      2  293 KiB      any  ring       400.0 us  1.00 GB/s\n");
}

}  // namespace
}  // namespace ronde::comm
