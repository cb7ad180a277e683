#include "ronde/tune/samplers/cma.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "ronde/base/math/random.h"

namespace ronde::tune {
namespace {

using Points = std::vector<std::vector<double>>;

template <class Function>
void run(Cma& cma, int generations, Function value) {
  Random random(3);
  for (int generation = 0; generation < generations; ++generation) {
    Points points;
    for (std::size_t i = 0; i < cma.population(); ++i) points.push_back(cma.draw(random));
    std::ranges::sort(points, {}, value);
    cma.tell(points);
  }
}

TEST(Cma, FindsTheLeastOfALongNarrowValley) {
  Cma cma(4);
  EXPECT_EQ(cma.population(), 8u);
  // Turned and stretched a thousandfold: it must learn the covariance.
  run(cma, 120, [](const std::vector<double>& x) {
    const double a = x[0] - 0.3, b = x[1] - 0.6, c = x[2] - 0.5, d = x[3] - 0.1;
    return (a + b) * (a + b) + 1000 * (a - b) * (a - b) + c * c + 10 * d * d;
  });
  EXPECT_NEAR(cma.mean()[0], 0.3, 1e-4);
  EXPECT_NEAR(cma.mean()[1], 0.6, 1e-4);
  EXPECT_NEAR(cma.mean()[2], 0.5, 1e-4);
  EXPECT_NEAR(cma.mean()[3], 0.1, 1e-4);
  EXPECT_LT(cma.sigma(), 1e-2);
}

TEST(Cma, StaysInTheCube) {
  Cma cma(2);
  run(cma, 40, [](const std::vector<double>& x) { return -x[0] - x[1]; });
  Random random(1);
  for (int i = 0; i < 100; ++i)
    for (const double x : cma.draw(random)) EXPECT_TRUE(x >= 0 && x <= 1);
  EXPECT_GT(cma.mean()[0] + cma.mean()[1], 1.9);
}

TEST(Cma, OneDimensionWorksToo) {
  Cma cma(1);
  run(cma, 60, [](const std::vector<double>& x) { return std::abs(x[0] - 0.77); });
  EXPECT_NEAR(cma.mean()[0], 0.77, 1e-3);
}

}  // namespace
}  // namespace ronde::tune
