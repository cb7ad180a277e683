#include "ronde/data/order/random.h"

#include <array>
#include <set>

#include <gtest/gtest.h>

namespace ronde::data {
namespace {

// Known values: order and pictures of every run that was ever made depend on them.
TEST(Random, NeverChanges) {
  static_assert(mix(0) == 0);
  static_assert(mix(0x9e3779b97f4a7c15u) == 0xe220a8397b1dcdafu, "the first output of splitmix64 with seed 0");
  static_assert(mix(2 * 0x9e3779b97f4a7c15u) == 0x6e789e6aa1b965f4u, "the second");
  EXPECT_EQ(Random(1, 2, 3).at(0), Random(1, 2, 3).next());
}

TEST(Random, NumbersCanBeHadInAnyOrder) {
  Random random(7, 1, 2);
  const Random again(7, 1, 2);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(random.next(), again.at(i));
}

TEST(Random, NeighbouringKeysHaveNothingInCommon) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (std::uint64_t a = 0; a < 10; ++a)
      for (std::uint64_t b = 0; b < 10; ++b)
        for (std::uint64_t n = 0; n < 10; ++n) seen.insert(Random(seed, a, b).at(n));
  EXPECT_EQ(seen.size(), 10'000u);
}

TEST(Random, IsEven) {
  std::array<int, 7> counts{};
  double sum = 0;
  constexpr int kDraws = 70'000;
  Random random(3);
  for (int i = 0; i < kDraws; ++i) {
    ++counts[random.below(counts.size())];
    const float u = random.uniform();
    ASSERT_GE(u, 0.0f);
    ASSERT_LT(u, 1.0f);
    sum += u;
  }
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);  // five deviations
  EXPECT_NEAR(sum / kDraws, 0.5, 0.006);
}

}  // namespace
}  // namespace ronde::data
