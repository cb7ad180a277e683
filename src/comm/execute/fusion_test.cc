#include "ronde/comm/execute/fusion.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace ronde::comm::detail {
namespace {

using Buckets = std::vector<std::vector<std::size_t>>;

TEST(Fusion, FillsBucketsUpToTheLimitAndKeepsTheOrder) {
  const std::vector<FusionItem> items = {{40, 1}, {40, 1}, {40, 1}, {40, 1}, {40, 1}};
  EXPECT_EQ(fuse(items, {.bytes = 100, .first_bytes = 100}), (Buckets{{0, 1}, {2, 3}, {4}}));
}

TEST(Fusion, TheFirstBucketIsSmall) {
  const std::vector<FusionItem> items = {{10, 1}, {10, 1}, {10, 1}, {10, 1}};
  EXPECT_EQ(fuse(items, {.bytes = 100, .first_bytes = 10}), (Buckets{{0}, {1, 2, 3}}));
}

TEST(Fusion, OneRequestMayBeLargerThanTheLimit) {
  const std::vector<FusionItem> items = {{10, 1}, {500, 1}, {10, 1}};
  EXPECT_EQ(fuse(items, {.bytes = 100, .first_bytes = 100}), (Buckets{{0}, {1}, {2}}));
}

TEST(Fusion, KindsDoNotMixAndDoNotTearEachOtherApart) {
  const std::vector<FusionItem> items = {{10, 1}, {10, 2}, {10, 1}, {10, 2}};
  EXPECT_EQ(fuse(items, {.bytes = 100, .first_bytes = 100}), (Buckets{{0, 2}, {1, 3}}));
  const std::vector<FusionItem> alone = {{10, 0}, {10, 0}, {10, 1}};
  EXPECT_EQ(fuse(alone, {.bytes = 100, .first_bytes = 100}), (Buckets{{0}, {1}, {2}}));
}

TEST(Fusion, NothingTravelsTogetherAcrossAFence) {
  const std::vector<FusionItem> items = {{10, 1}, {10, 2}, {10, 1, true}, {10, 2}, {10, 1}};
  EXPECT_EQ(fuse(items, {.bytes = 100, .first_bytes = 100}), (Buckets{{0}, {1}, {3}, {2, 4}}));
  const std::vector<FusionItem> first = {{10, 1, true}, {10, 1}};
  EXPECT_EQ(fuse(first, {.bytes = 100, .first_bytes = 100}), (Buckets{{0, 1}})) << "there is nothing before it";
  const std::vector<FusionItem> all = {{10, 1, true}, {10, 1, true}, {10, 0, true}};
  EXPECT_EQ(fuse(all, {.bytes = 100, .first_bytes = 100}), (Buckets{{0}, {1}, {2}}));
}

TEST(Fusion, BucketsComeInTheOrderInWhichTheyAreComplete) {
  // That of kind 1 begins first and stays open for long; it is complete with its last item.
  const std::vector<FusionItem> items = {{10, 1}, {60, 2}, {60, 2}, {10, 0}, {10, 1}, {10, 3}};
  EXPECT_EQ(fuse(items, {.bytes = 100, .first_bytes = 100}), (Buckets{{1}, {2}, {3}, {0, 4}, {5}}));
}

TEST(Fusion, NothingGivesNothing) {
  EXPECT_TRUE(fuse({}, {.bytes = 100, .first_bytes = 100}).empty());
}

TEST(Fusion, EveryRequestIsInExactlyOneBucketWhateverComes) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<FusionItem> items(random() % 40);
    for (FusionItem& item : items) item = {random() % 90, random() % 3, random() % 8 == 0};
    const FusionLimits limits{.bytes = 100, .first_bytes = 30};
    std::vector<std::size_t> seen;
    for (const auto& bucket : fuse(items, limits)) {
      ASSERT_FALSE(bucket.empty());
      ASSERT_TRUE(std::ranges::is_sorted(bucket));
      for (std::size_t i = bucket.front() + 1; i <= bucket.back(); ++i) ASSERT_FALSE(items[i].fence);
      seen.insert(seen.end(), bucket.begin(), bucket.end());
    }
    std::ranges::sort(seen);
    ASSERT_EQ(seen.size(), items.size());
    for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], i);
  }
}

}  // namespace
}  // namespace ronde::comm::detail
