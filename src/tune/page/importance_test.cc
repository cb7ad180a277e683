#include "ronde/tune/page/importance.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

namespace ronde::tune {
namespace {

TEST(Importance, IsThatOfTheParameterWhichDecides) {
  Random random(3);
  std::vector<Column> columns = {{"rate"}, {"noise"}, {"kind", {}, 3}, {"same"}};
  std::vector<double> losses;
  for (int i = 0; i < 300; ++i) {
    const double rate = random.uniform_double(), noise = random.uniform_double();
    const auto kind = static_cast<double>(random.below(3));
    columns[0].values.push_back(rate);
    columns[1].values.push_back(noise);
    columns[2].values.push_back(kind);
    columns[3].values.push_back(7);
    losses.push_back(std::abs(rate - 0.3) + (kind == 1 ? 0 : 0.1) + 0.01 * noise);
  }
  const std::vector<double> shares = importance(columns, losses);
  EXPECT_GT(shares[0], 0.6);
  EXPECT_GT(shares[2], 3 * shares[1]);
  EXPECT_EQ(shares[3], 0) << "it never changed";
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
}

TEST(Importance, NeedsTrialsAndLeavesOutThoseWithoutAValue) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(importance({{"x", std::vector<double>(10, 1.0)}}, std::vector<double>(10, 1.0)), std::vector<double>{0});
  std::vector<double> values, losses;
  for (int i = 0; i < 60; ++i) {
    values.push_back(i % 2 == 0 ? i : none);
    losses.push_back(i % 3 == 0 ? none : i);
  }
  EXPECT_EQ(importance({{"x", values}}, losses), std::vector<double>{1});
  EXPECT_TRUE(importance({}, {}).empty());
}

}  // namespace
}  // namespace ronde::tune
