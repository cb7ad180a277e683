#include "ronde/base/math/cost_fit.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde {
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

}  // namespace
}  // namespace ronde
