#include "ronde/tune/samplers/minimise.h"

#include <gtest/gtest.h>

namespace ronde::tune {
namespace {

double rosenbrock(const std::vector<double>& at, std::vector<double>& gradient) {
  const double a = at[1] - at[0] * at[0], b = 1 - at[0];
  gradient = {-400 * at[0] * a - 2 * b, 200 * a};
  return 100 * a * a + b * b;
}

TEST(Minimise, FollowsACurvedValley) {
  const auto found = minimise(rosenbrock, {-1.2, 1}, {.low = {-5, -5}, .high = {5, 5}}, {.iterations = 200});
  EXPECT_NEAR(found[0], 1, 1e-3);
  EXPECT_NEAR(found[1], 1, 1e-3);
}

TEST(Minimise, StopsAtTheWallsOfTheBox) {
  const auto found = minimise(rosenbrock, {-1.2, 1}, {.low = {-5, -5}, .high = {0.5, 5}}, {.iterations = 200});
  EXPECT_DOUBLE_EQ(found[0], 0.5);
  EXPECT_NEAR(found[1], 0.25, 1e-4);
  const auto fixed = minimise(rosenbrock, {2, 0}, {.low = {2, -5}, .high = {2, 5}});
  EXPECT_DOUBLE_EQ(fixed[0], 2);
  EXPECT_NEAR(fixed[1], 4, 1e-3);
}

}  // namespace
}  // namespace ronde::tune
