#include "ronde/data/order/batch_plan.h"

#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::data {
namespace {

std::vector<std::int64_t> sizes_of(const BatchPlan& plan, std::int64_t from = 0) {
  std::vector<std::int64_t> sizes;
  for (Range batch = plan.batch_at(from); batch.size() > 0; batch = plan.batch_at(batch.end))
    sizes.push_back(batch.size());
  return sizes;
}

TEST(BatchPlan, TheLastBatchIsShortOrLeftOut) {
  const BatchPlan kept{.samples = 10, .batch = 4}, dropped{.samples = 10, .batch = 4, .keep_short = false};
  EXPECT_EQ(sizes_of(kept), (std::vector<std::int64_t>{4, 4, 2}));
  EXPECT_EQ(kept.batches(), 3);
  EXPECT_EQ(sizes_of(dropped), (std::vector<std::int64_t>{4, 4}));
  EXPECT_EQ(dropped.batches(), 2);
  EXPECT_EQ((BatchPlan{.samples = 8, .batch = 4}.batches()), 2);
  EXPECT_EQ((BatchPlan{.samples = 0, .batch = 4}.batches()), 0);
  EXPECT_EQ((BatchPlan{.samples = 3, .batch = 4, .keep_short = false}.batches()), 0);
}

TEST(BatchPlan, GoesOnFromAnyPosition) {
  const BatchPlan plan{.samples = 10, .batch = 4};
  EXPECT_EQ(sizes_of(plan, 3), (std::vector<std::int64_t>{4, 3}));
  EXPECT_EQ(plan.batch_at(10).size(), 0);
  EXPECT_EQ(plan.batch_at(99).size(), 0);
  EXPECT_EQ(plan.index_of(0), 0);
  EXPECT_EQ(plan.index_of(8), 2);
}

TEST(Share, CoversTheWholeInOrderAndEvenly) {
  for (std::int64_t size = 0; size < 40; ++size) {
    for (int ranks = 1; ranks < 12; ++ranks) {
      const Range whole{100, 100 + size};
      std::int64_t at = whole.begin;
      for (int rank = 0; rank < ranks; ++rank) {
        const Range part = share(whole, rank, ranks);
        EXPECT_EQ(part.begin, at);
        EXPECT_GE(part.size(), size / ranks);
        EXPECT_LE(part.size(), (size + ranks - 1) / ranks);
        at = part.end;
      }
      EXPECT_EQ(at, whole.end);
    }
  }
  EXPECT_EQ(share({0, 2}, 2, 3).size(), 0) << "fewer samples than ranks";
}

TEST(Position, GoesToTextAndBack) {
  const Position position{.epoch = 3, .position = 1280, .seed = ~std::uint64_t{0}};
  EXPECT_EQ(to_text(position), "epoch=3 position=1280 seed=18446744073709551615");
  EXPECT_EQ(parse_position(to_text(position)), position);
  for (const char* wrong : {"", "3 1280 7", "epoch=3 position=x seed=7", "epoch=-1 position=0 seed=0",
                            "epoch=1 position=0", "epoch=1 position=0 seed=0 more=1"})
    EXPECT_THROW(parse_position(wrong), Error) << wrong;
}

}  // namespace
}  // namespace ronde::data
