#include "ronde/data/order/chunk_order.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/data/order/index_view.h"

namespace ronde::data {
namespace {

const std::vector<Range> kChunks = {{0, 10}, {10, 25}, {25, 26}, {26, 40}, {40, 40}, {40, 63}};

TEST(ChunkOrder, VisitsEverySampleOnce) {
  for (const std::int64_t window : {1, 2, 3, 100}) {
    const ChunkOrder order(kChunks, window, 7, 3);
    ASSERT_EQ(order.size(), 63);
    std::set<std::int64_t> seen;
    for (std::int64_t i = 0; i < order.size(); ++i) seen.insert(order[i]);
    EXPECT_EQ(seen.size(), 63u);
    EXPECT_EQ(*seen.rbegin(), 62);
  }
}

TEST(ChunkOrder, MixesOnlyTheChunksOfAWindow) {
  const ChunkOrder order(kChunks, 2, 7, 3);
  for (std::int64_t at = 0; at < order.size(); at = order.window_end(at)) {
    const auto chunks = order.window_at(at);
    ASSERT_LE(chunks.size(), 2u);
    for (std::int64_t i = at; i < order.window_end(at); ++i)
      EXPECT_TRUE(std::ranges::any_of(
          chunks, [&](const Range& chunk) { return chunk.begin <= order[i] && order[i] < chunk.end; }));
  }
}

TEST(ChunkOrder, DiffersByEpochAndSeedAndIsNotSorted) {
  const auto all = [](std::uint64_t seed, std::int64_t epoch) {
    const ChunkOrder order(kChunks, 2, seed, epoch);
    std::vector<std::int64_t> found;
    for (std::int64_t i = 0; i < order.size(); ++i) found.push_back(order[i]);
    return found;
  };
  EXPECT_EQ(all(1, 0), all(1, 0));
  EXPECT_NE(all(1, 0), all(1, 1));
  EXPECT_NE(all(1, 0), all(2, 0));
  EXPECT_FALSE(std::ranges::is_sorted(all(1, 0)));
  EXPECT_THROW(ChunkOrder(kChunks, 0, 1, 1), Error);
}

std::optional<std::vector<Range>> chunks_of(const std::vector<std::int64_t>& stored) {
  return chunks_of_places(kChunks, std::ssize(stored),
                          [&](std::int64_t place) { return stored[static_cast<std::size_t>(place)]; });
}

TEST(ChunksOfPlaces, AreRunsOfWhatLiesInOneChunk) {
  EXPECT_EQ(chunks_of({0, 9, 10, 24, 25, 62}), (std::vector<Range>{{0, 2}, {2, 4}, {4, 5}, {5, 6}}));
  EXPECT_EQ(chunks_of({26, 39}), (std::vector<Range>{{0, 2}}));
  EXPECT_EQ(chunks_of({}), std::vector<Range>());
  std::vector<std::int64_t> all(63);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(chunks_of(all), (std::vector<Range>{{0, 10}, {10, 25}, {25, 26}, {26, 40}, {40, 63}}));
}

TEST(ChunksOfPlaces, AreNotThereWherePlacesGoBackAndForth) {
  EXPECT_EQ(chunks_of({0, 9, 8}), std::nullopt);
  EXPECT_EQ(chunks_of({30, 0}), std::nullopt);
  EXPECT_EQ(chunks_of({5, 5}), std::nullopt);
  EXPECT_EQ(chunks_of({5, 63}), std::nullopt) << "no chunk has it";
}

TEST(IndexView, ChainsOrdersPartsAndShards) {
  const IndexView view = IndexView(63).shuffled_chunks(kChunks, 2, 5).part({3, 43}).every(1, 4);
  EXPECT_EQ(view.size(), 10);
  const ChunkOrder order(kChunks, 2, 5, 8);
  const auto lookup = view.epoch(8);
  for (std::int64_t i = 0; i < view.size(); ++i) EXPECT_EQ(lookup(i), order[3 + 4 * i + 1]);
  EXPECT_EQ(IndexView(10).part({5, 99}).size(), 5);
  EXPECT_EQ(IndexView(10).every(3, 4).size(), 2);
  EXPECT_THROW(IndexView(10).every(4, 4), Error);
}

}  // namespace
}  // namespace ronde::data
