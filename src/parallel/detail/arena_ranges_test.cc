#include "ronde/parallel/detail/arena_ranges.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace ronde::parallel::detail {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::unique_ptr<ArenaPool> make_pool(ArenaMeter& meter) {
  return std::make_unique<ArenaPool>(std::make_unique<PrivateBacking>(256 * kMiB), meter);
}

TEST(ArenaRanges, EveryAddressHasItsPool) {
  ArenaMeter meter;
  ArenaRanges ranges;
  auto &first = ranges.add(make_pool(meter)), &second = ranges.add(make_pool(meter));
  auto* const a = static_cast<std::byte*>(first.allocate(kMiB));
  auto* const b = static_cast<std::byte*>(second.allocate(kMiB));
  EXPECT_EQ(ranges.find(a), &first);
  EXPECT_EQ(ranges.find(a + kMiB - 1), &first);
  EXPECT_EQ(ranges.find(b), &second);
  EXPECT_EQ(ranges.find(&meter), nullptr);
  first.free(a);
  second.free(b);
  EXPECT_EQ(ranges.trim(), 2 * kMiB);
  first.release();
  second.release();
}

TEST(ArenaRanges, APoolStaysForItsLastBlock) {
  ArenaMeter meter;
  ArenaRanges ranges;
  auto& range = ranges.add(make_pool(meter));
  auto* const block = static_cast<std::byte*>(range.allocate(kMiB));
  range.release();
  *block = std::byte{1};
  EXPECT_EQ(ranges.find(block), &range);
  range.free(block);
  EXPECT_EQ(ranges.find(block), nullptr);
  EXPECT_EQ(ranges.trim(), 0u);
  EXPECT_EQ(meter.held(), 0u);
}

TEST(ArenaRanges, PoolsComeAndGoWhileOthersLook) {
  ArenaMeter meter;
  ArenaRanges ranges;
  auto& stays = ranges.add(make_pool(meter));
  std::atomic<bool> done = false;
  std::jthread other([&] {
    while (!done) {
      void* const block = stays.allocate(100);
      EXPECT_EQ(ranges.find(block), &stays);
      stays.free(block);
      ranges.trim();
    }
  });
  for (int i = 0; i < 200; ++i) {
    auto& range = ranges.add(make_pool(meter));
    void* const block = range.allocate(kMiB);
    EXPECT_EQ(ranges.find(block), &range);
    range.release();
    range.free(block);
  }
  done = true;
  other.join();
  ranges.trim();
  EXPECT_EQ(meter.held(), 0u);
}

}  // namespace
}  // namespace ronde::parallel::detail
