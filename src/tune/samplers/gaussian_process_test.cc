#include "ronde/tune/samplers/gaussian_process.h"

#include <cmath>

#include <gtest/gtest.h>

#include "ronde/base/math/random.h"

namespace ronde::tune {
namespace {

// sin(6 x) of the first, the second counts for nothing, and the category shifts it.
double function(const std::vector<double>& at) {
  return std::sin(6 * at[0]) + (at[2] > 0.5 ? 1 : 0);
}

GaussianProcess some_process() {
  Random random(4);
  std::vector<std::vector<double>> points;
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) {
    points.push_back({random.uniform_double(), random.uniform_double(), random.below(2) == 0 ? 0.25 : 0.75});
    values.push_back(function(points.back()));
  }
  return {points, values, {false, false, true}};
}

TEST(GaussianProcess, LearnsASmoothFunction) {
  const GaussianProcess process = some_process();
  EXPECT_LT(process.noise(), 1e-3);
  EXPECT_GT(process.inverse_squared_lengths()[0], 10 * process.inverse_squared_lengths()[1]) << "what counts is told";
  Random random(5);
  for (int i = 0; i < 20; ++i) {
    const std::vector<double> at{random.uniform_double(), random.uniform_double(), 0.75};
    const auto prediction = process.predict(at);
    EXPECT_NEAR(prediction.mean, function(at), 0.15);
  }
}

TEST(GaussianProcess, ItsSlopesAreThoseOfItsValues) {
  const GaussianProcess process = some_process();
  constexpr double kStep = 1e-5;
  const std::vector<double> at{0.37, 0.61, 0.25};
  const auto here = process.predict(at, true);
  for (std::size_t d = 0; d < 2; ++d) {
    auto left = at, right = at;
    left[d] -= kStep;
    right[d] += kStep;
    const auto a = process.predict(left), b = process.predict(right);
    EXPECT_NEAR(here.mean_slope[d], (b.mean - a.mean) / (2 * kStep), 1e-4);
    EXPECT_NEAR(here.deviation_slope[d], (b.deviation - a.deviation) / (2 * kStep), 1e-4);
    const auto gain = [](const auto& p) { return log_expected_improvement(-0.8, p.mean, p.deviation); };
    const double slope = gain(here).by_mean * here.mean_slope[d] + gain(here).by_deviation * here.deviation_slope[d];
    EXPECT_NEAR(slope / ((gain(b).log - gain(a).log) / (2 * kStep)), 1, 1e-2);
  }
  EXPECT_EQ(here.mean_slope[2], 0);
}

TEST(GaussianProcess, APointThatIsAddedIsKnown) {
  GaussianProcess process = some_process();
  const std::vector<double> far{1, 1, 0.25};
  const double before = process.predict(far).deviation;
  process.add(far, process.predict(far).mean);
  EXPECT_LT(process.predict(far).deviation, 0.7 * before);
}

TEST(ExpectedImprovement, IsSmoothWhereItsFormulaChanges) {
  const double near = log_expected_improvement(0, 7.999, 1).log, far = log_expected_improvement(0, 8.001, 1).log;
  EXPECT_NEAR(near - far, 0.002 * 8.24, 5e-3);
  EXPECT_NEAR(log_expected_improvement(0, 0, 1).log, std::log(0.3989423), 1e-6);
  EXPECT_TRUE(std::isfinite(log_expected_improvement(0, 1e4, 1).log));
}

}  // namespace
}  // namespace ronde::tune
