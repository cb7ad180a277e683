#include "ronde/parallel/detail/arena_pool.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::parallel::detail {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::unique_ptr<ArenaBacking> some_addresses() {
  return std::make_unique<PrivateBacking>(256 * kMiB);
}

struct Pool {
  ArenaMeter meter;
  ArenaPool pool{some_addresses(), meter};

  std::byte* allocate(std::size_t bytes) { return static_cast<std::byte*>(pool.allocate(bytes)); }
};

bool holds(const std::byte* data, std::size_t bytes, std::byte value) {
  return std::all_of(data, data + bytes, [value](std::byte byte) { return byte == value; });
}

// A pool, and what a pool should be: blocks that do not overlap and keep what was written into them.
class Shadow {
 public:
  explicit Shadow(std::uint32_t seed) : random_(seed) {}

  void allocate() {
    const std::size_t bytes = 1 + random_() % (random_() % 8 == 0 ? 8 * kMiB : 200'000);
    std::byte* const data = pool_.allocate(bytes);
    if (!data) return void(pool_.pool.trim());  // the range is used up
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0u);
    ASSERT_TRUE(data >= pool_.pool.begin() && data + bytes <= pool_.pool.end());
    const auto next = blocks_.lower_bound(data);
    ASSERT_TRUE(next == blocks_.end() || data + bytes <= next->first);
    ASSERT_TRUE(next == blocks_.begin() || std::prev(next)->first + std::prev(next)->second.bytes <= data);
    const Block block{bytes, static_cast<std::byte>(random_())};
    std::memset(data, static_cast<int>(block.value), bytes);
    blocks_.emplace(data, block);
    in_use_ += (bytes + 63) / 64 * 64;
  }

  void free_one() {
    if (blocks_.empty()) return;
    const auto [data, block] = *std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(random_() % blocks_.size()));
    ASSERT_TRUE(holds(data, block.bytes, block.value));
    pool_.pool.free(data);
    blocks_.erase(data);
    in_use_ -= (block.bytes + 63) / 64 * 64;
  }

  void step() {
    const auto dice = random_() % 100;
    if (dice < 50) {
      allocate();
    } else if (dice < 99) {
      free_one();
    } else {
      pool_.pool.trim();
    }
    ASSERT_EQ(pool_.meter.in_use(), in_use_);
    ASSERT_EQ(pool_.pool.blocks(), blocks_.size());
    ASSERT_GE(pool_.meter.held(), in_use_);
    ASSERT_LE(pool_.meter.held(), 256 * kMiB);
  }

  void end() {
    while (!blocks_.empty()) free_one();
    pool_.pool.trim();
    EXPECT_EQ(pool_.meter.in_use(), 0u);
    EXPECT_EQ(pool_.meter.held(), 0u);
    // All of it is one piece again.
    EXPECT_NE(pool_.allocate(256 * kMiB), nullptr);
  }

 private:
  struct Block {
    std::size_t bytes;
    std::byte value;
  };
  Pool pool_;
  std::mt19937 random_;
  std::map<std::byte*, Block> blocks_;
  std::size_t in_use_ = 0;
};

TEST(ArenaPool, AnyOrderOfTakingAndGivingBack) {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    Shadow shadow(seed);
    for (int step = 0; step < 1000; ++step) ASSERT_NO_FATAL_FAILURE(shadow.step()) << "seed " << seed;
    shadow.end();
  }
}

TEST(ArenaPool, TheSameStepAgainNeedsNothingNew) {
  Pool pool;
  std::vector<std::byte*> step;
  std::uint64_t misses = 0, held = 0;
  for (int repetition = 0; repetition < 5; ++repetition) {
    for (const std::size_t bytes : {3 * kMiB, 70'000ul, 5 * kMiB, 100'000ul, 3 * kMiB})
      step.push_back(pool.allocate(bytes));
    for (std::byte* const block : step) pool.pool.free(block);
    step.clear();
    if (repetition > 0) {
      EXPECT_EQ(pool.meter.misses(), misses);
      EXPECT_EQ(pool.meter.held(), held);
    }
    misses = pool.meter.misses();
    held = pool.meter.held();
  }
  EXPECT_EQ(pool.meter.hits(), 20u);
  EXPECT_EQ(pool.meter.cached(), held);
  EXPECT_EQ(pool.meter.peak(), held);
}

TEST(ArenaPool, TheSmallestThatIsLargeEnough) {
  Pool pool;
  std::byte* const large = pool.allocate(8 * kMiB);
  (void)pool.allocate(64);  // keeps them apart
  std::byte* const medium = pool.allocate(2 * kMiB);
  (void)pool.allocate(64);
  pool.pool.free(large);
  pool.pool.free(medium);
  EXPECT_EQ(pool.allocate(kMiB), medium);
  EXPECT_EQ(pool.allocate(kMiB), medium + kMiB) << "what is left of it";
  EXPECT_EQ(pool.allocate(kMiB), large);
}

TEST(ArenaPool, NeighboursJoin) {
  Pool pool;
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(pool.allocate(kMiB));
  (void)pool.allocate(64);
  for (const std::size_t i : {1u, 3u, 0u, 2u}) pool.pool.free(blocks[i]);
  EXPECT_EQ(pool.allocate(4 * kMiB), blocks[0]);
}

TEST(ArenaPool, WhatIsKeptAtTheEndGrows) {
  Pool pool;
  std::byte* block = pool.allocate(kMiB);
  for (std::size_t i = 1; i < 100; ++i) {  // as with sentences that get longer
    pool.pool.free(block);
    block = pool.allocate(kMiB + i * 4096);
  }
  EXPECT_EQ(pool.meter.held(), kMiB + 99 * 4096);
}

TEST(ArenaPool, WhatIsTrimmedIsGivenBack) {
  Pool pool;
  std::byte* const first = pool.allocate(4 * kMiB);
  std::byte* const second = pool.allocate(64);
  std::memset(first, 1, 4 * kMiB);
  std::memset(second, 2, 64);
  pool.pool.free(first);
  EXPECT_EQ(pool.pool.trim(), 4 * kMiB);
  EXPECT_EQ(pool.meter.cached(), 0u);
  EXPECT_TRUE(holds(second, 64, std::byte{2})) << "what is used stays";
  EXPECT_EQ(pool.allocate(4 * kMiB), first);
  EXPECT_TRUE(holds(first, 4 * kMiB, std::byte{0})) << "the system has taken the pages";
}

TEST(ArenaPool, NothingBeyondTheLimit) {
  Pool pool;
  pool.meter.set_limit(10 * kMiB);
  std::byte* const first = pool.allocate(6 * kMiB);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(pool.allocate(5 * kMiB), nullptr);
  EXPECT_NE(pool.allocate(4 * kMiB), nullptr) << "exactly as much as there is";
  EXPECT_EQ(pool.allocate(64), nullptr);
  pool.pool.free(first);
  EXPECT_NE(pool.allocate(3 * kMiB), nullptr) << "of what is kept";
  EXPECT_EQ(pool.allocate(4 * kMiB), nullptr) << "3 are kept";
  EXPECT_EQ(pool.allocate(std::size_t{1} << 63), nullptr);
  EXPECT_EQ(pool.meter.held(), 10 * kMiB);
}

TEST(ArenaPool, ARangeThatIsUsedUp) {
  Pool pool;
  std::vector<std::byte*> blocks;
  while (std::byte* const block = pool.allocate(32 * kMiB)) blocks.push_back(block);
  EXPECT_EQ(blocks.size(), 8u);
  EXPECT_EQ(pool.meter.held(), 256 * kMiB);
  EXPECT_EQ(pool.allocate(1), nullptr);
}

TEST(ArenaPool, ARetiredPoolUsesNothingAgain) {
  Pool pool;
  std::byte* const block = pool.allocate(kMiB);
  std::memset(block, 1, kMiB);
  pool.pool.retire();
  EXPECT_EQ(pool.allocate(64), nullptr);
  pool.pool.free(block);
  EXPECT_EQ(pool.pool.trim(), 0u);
  EXPECT_TRUE(holds(block, kMiB, std::byte{1}));
  EXPECT_EQ(pool.meter.in_use(), 0u);
  EXPECT_EQ(pool.meter.held(), kMiB);
}

TEST(ArenaPool, GivingBackTwiceIsNoticed) {
  Pool pool;
  std::byte* const block = pool.allocate(kMiB);
  EXPECT_THROW(pool.pool.free(block + 64), Error);
  pool.pool.free(block);
  EXPECT_THROW(pool.pool.free(block), Error);
}

TEST(ArenaPool, ManyThreads) {
  Pool pool;
  std::vector<std::jthread> threads;
  for (int thread = 1; thread <= 4; ++thread)
    threads.emplace_back([&pool, thread] {
      std::mt19937 random(static_cast<std::uint32_t>(thread));
      for (int i = 0; i < 500; ++i) {
        const std::size_t bytes = 1 + random() % 300'000;
        std::byte* const data = pool.allocate(bytes);
        ASSERT_NE(data, nullptr);
        std::memset(data, thread, bytes);
        if (i % 50 == 0) pool.pool.trim();
        EXPECT_TRUE(holds(data, bytes, static_cast<std::byte>(thread)));
        pool.pool.free(data);
      }
    });
  threads.clear();
  EXPECT_EQ(pool.meter.in_use(), 0u);
  pool.pool.trim();
  EXPECT_EQ(pool.meter.held(), 0u);
}

}  // namespace
}  // namespace ronde::parallel::detail
