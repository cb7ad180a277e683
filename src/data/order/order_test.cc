#include "ronde/data/order/order.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::data {
namespace {

std::vector<std::int64_t> all_of(const Order& order) {
  std::vector<std::int64_t> samples;
  for (std::int64_t i = 0; i < order.size(); ++i) samples.push_back(order[i]);
  return samples;
}

bool visits_each_once(std::vector<std::int64_t> samples) {
  std::ranges::sort(samples);
  std::vector<std::int64_t> expected(samples.size());
  std::iota(expected.begin(), expected.end(), 0);
  return samples == expected;
}

TEST(Order, VisitsEverySampleExactlyOnce) {
  for (std::int64_t samples = 0; samples <= 300; ++samples)
    for (const std::int64_t epoch : {0, 1, 57})
      EXPECT_TRUE(visits_each_once(all_of(Order(samples, 5, epoch)))) << samples << " samples, epoch " << epoch;
  for (const std::int64_t samples : {1023, 1024, 1025, 4097, 60'000, 65'536, 131'073})
    EXPECT_TRUE(visits_each_once(all_of(Order(samples, 1, 2)))) << samples << " samples";
}

TEST(Order, DependsOnSeedAndEpochAndNothingElse) {
  const auto order = all_of(Order(1000, 1, 1));
  EXPECT_EQ(order, all_of(Order(1000, 1, 1)));
  EXPECT_NE(order, all_of(Order(1000, 1, 2)));
  EXPECT_NE(order, all_of(Order(1000, 2, 1)));
}

// Over many orders, each sample comes to each place about equally often, and neighbours do not stay neighbours.
TEST(Order, MixesWell) {
  constexpr std::int64_t kSamples = 10, kOrders = 20'000;
  std::vector<int> counts(kSamples * kSamples);
  for (std::int64_t epoch = 0; epoch < kOrders; ++epoch) {
    const Order order(kSamples, 3, epoch);
    for (std::int64_t i = 0; i < kSamples; ++i) ++counts[static_cast<std::size_t>(i * kSamples + order[i])];
  }
  for (const int count : counts) EXPECT_NEAR(count, kOrders / kSamples, 6 * std::sqrt(kOrders / kSamples));

  const Order large(100'000, 3, 0);
  int near = 0;
  for (std::int64_t i = 0; i + 1 < large.size(); ++i) near += std::abs(large[i] - large[i + 1]) < 100;
  EXPECT_NEAR(near, 200, 85);  // 2 x 100 / 100,000 of them by chance
}

TEST(Order, TakesSizesThatNoMemoryHolds) {
  const Order order(std::int64_t{1} << 60, 1, 1);
  EXPECT_NE(order[0], order[1]);
  EXPECT_LT(order[12345], order.size());
  EXPECT_THROW(Order(-1, 0, 0), Error);
}

}  // namespace
}  // namespace ronde::data
