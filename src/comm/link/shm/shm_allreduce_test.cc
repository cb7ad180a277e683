#include "ronde/comm/link/shm/shm_allreduce.h"

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/comm/link/shm/shm_collectives.h"
#include "ronde/comm/link/testing/test_ranks.h"

namespace ronde::comm::detail {
namespace {

// Whole numbers, so that f32 sums are exact in any order and a wrong order of ranks cannot hide behind rounding.
float value(int rank, std::size_t i, int repetition) {
  return static_cast<float>((rank + 1) * 3 + static_cast<int>(i % 97) + repetition);
}
float sum(int ranks, std::size_t i, int repetition) {
  float total = 0;
  for (int rank = 0; rank < ranks; ++rank) total += value(rank, i, repetition);
  return total;
}

class Allreduce : public testing::TestWithParam<std::tuple<int, std::size_t>> {};

TEST_P(Allreduce, SumsOrdinaryMemoryInPieces) {
  const auto [ranks, count] = GetParam();
  run_ranks(ranks, [&, ranks = ranks, count = count](TestRank& rank) {
    for (int repetition = 0; repetition < 4; ++repetition) {
      std::vector<float> data(count);
      for (std::size_t i = 0; i < count; ++i) data[i] = value(rank.channel.rank(), i, repetition);
      const auto bytes = std::as_writable_bytes(std::span(data));
      Segments segments;  // three pieces of different length
      const std::size_t cut = count / 3 * 4;
      segments.add(bytes.subspan(0, cut));
      segments.add(bytes.subspan(cut, 0));
      segments.add(bytes.subspan(cut, (count - count / 3) / 2 * 4));
      segments.add(bytes.subspan(segments.size()));
      rank.run(shm_allreduce(rank.channel, segments, {.dtype = DType::F32, .op = ReduceOp::Sum}));
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(data[i], sum(ranks, i, repetition)) << i;
    }
  });
}

TEST_P(Allreduce, SumsSharedMemoryInPlace) {
  const auto [ranks, count] = GetParam();
  run_ranks(ranks, [&, ranks = ranks, count = count](TestRank& rank) {
    std::byte* memory = rank.node.arena().allocate(count * 4);
    auto* data = reinterpret_cast<float*>(memory);
    for (int repetition = 0; repetition < 4; ++repetition) {
      for (std::size_t i = 0; i < count; ++i) data[i] = value(rank.channel.rank(), i, repetition);
      const Segments segments(std::span(memory, count * 4));
      rank.run(shm_allreduce(rank.channel, segments, {.op = ReduceOp::Average, .scale = 1.0 / ranks}));
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_FLOAT_EQ(data[i], sum(ranks, i, repetition) / static_cast<float>(ranks));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, Allreduce,
                         testing::Combine(testing::Values(1, 2, 3, 4, 8),
                                          testing::Values<std::size_t>(1, 1000, 5000, 100'000, 700'001)));

TEST(Allreduce, MemoryMayBeSharedOnSomeRanksOnly) {
  run_ranks(3, [](TestRank& rank) {
    constexpr std::size_t kCount = 50'000;
    std::vector<float> own(kCount);
    auto* shared = reinterpret_cast<float*>(rank.node.arena().allocate(kCount * 4));
    float* data = rank.channel.rank() == 1 ? shared : own.data();
    for (std::size_t i = 0; i < kCount; ++i) data[i] = value(rank.channel.rank(), i, 0);
    rank.run(shm_allreduce(rank.channel, Segments(std::as_writable_bytes(std::span(data, kCount))), {}));
    for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(data[i], sum(3, i, 0));
  });
}

TEST(Allreduce, EveryRankGetsTheSameBits) {
  constexpr std::size_t kCount = 100'003;
  std::vector<std::vector<float>> results(4, std::vector<float>(kCount));
  run_ranks(4, [&](TestRank& rank) {
    auto& data = results[static_cast<std::size_t>(rank.channel.rank())];
    for (std::size_t i = 0; i < kCount; ++i)
      data[i] = 1.0f / static_cast<float>(i * 7 + 1 + static_cast<std::size_t>(rank.channel.rank()) * 13);
    rank.run(shm_allreduce(rank.channel, Segments(std::as_writable_bytes(std::span(data))), {}));
  });
  for (int r = 1; r < 4; ++r)
    EXPECT_EQ(std::memcmp(results[0].data(), results[static_cast<std::size_t>(r)].data(), kCount * 4), 0);
}

// Like the gradients of a network: some pieces of many chunks, some of one element, and none at a round place.
TEST(Allreduce, TakesManyPiecesOfAnyLength) {
  run_ranks(2, [](TestRank& rank) {
    std::mt19937 random(3);
    std::vector<std::vector<float>> pieces(160);
    Segments segments;
    for (auto& piece : pieces) {
      piece.resize(random() % 3 ? 1 + random() % 40 : 1 + random() % 60'000);
      for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = value(rank.channel.rank(), i, 1);
      segments.add(std::as_writable_bytes(std::span(piece)));
    }
    rank.run(shm_allreduce(rank.channel, segments, {}));
    for (const auto& piece : pieces)
      for (std::size_t i = 0; i < piece.size(); ++i) ASSERT_EQ(piece[i], sum(2, i, 1));
  });
}

TEST(Allreduce, TakesTypesOfAnyWidth) {
  run_ranks(3, [](TestRank& rank) {
    constexpr std::size_t kCount = 900'001;
    std::vector<std::uint8_t> small(kCount, static_cast<std::uint8_t>(rank.channel.rank() + 1));
    rank.run(shm_allreduce(rank.channel, Segments(std::as_writable_bytes(std::span(small))), {.dtype = DType::U8}));
    for (const std::uint8_t x : small) ASSERT_EQ(x, 6);
    std::vector<std::int64_t> large(kCount, -1L << (40 + rank.channel.rank()));
    rank.run(shm_allreduce(rank.channel, Segments(std::as_writable_bytes(std::span(large))),
                           {.dtype = DType::I64, .op = ReduceOp::Min}));
    for (const std::int64_t x : large) ASSERT_EQ(x, -1L << 42);
  });
}

// All of them count chunks and rounds of one channel, and use the same buffers.
TEST(Allreduce, MixesWithOtherCollectivesOnOneChannel) {
  run_ranks(3, [](TestRank& rank) {
    const int me = rank.channel.rank();
    for (int repetition = 0; repetition < 12; ++repetition) {
      const std::size_t count = repetition % 3 == 0 ? 100 : 100'000 * static_cast<std::size_t>(repetition % 5 + 1);
      std::vector<float> data(count);
      for (std::size_t i = 0; i < count; ++i) data[i] = value(me, i, repetition);
      rank.run(shm_allreduce(rank.channel, Segments(std::as_writable_bytes(std::span(data))), {}));
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(data[i], sum(3, i, repetition));
      if (me != repetition % 3) std::fill(data.begin(), data.end(), 0.0f);
      rank.run(shm_broadcast(rank.channel, std::as_writable_bytes(std::span(data)), repetition % 3));
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(data[i], sum(3, i, repetition));
    }
  });
}

// Somebody is missing: the others give up, and nothing touches their memory from then on.
TEST(Allreduce, CanBeAbandonedWithItsMemory) {
  run_ranks(3, [](TestRank& rank) {
    for (const std::size_t count : {100, 1'000'000}) {
      std::vector<float> data(count, 1.0f);
      Task task = shm_allreduce(rank.channel, Segments(std::as_writable_bytes(std::span(data))), {});
      EXPECT_FALSE(rank.channel.rank() > 0 && task.advance());
    }
  });
}

}  // namespace
}  // namespace ronde::comm::detail
