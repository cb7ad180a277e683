#include "ronde/bench/comm/cost_model.h"

#include <gtest/gtest.h>

namespace ronde::bench::detail {
namespace {

constexpr CostModel::Place kTwoNodes{.ranks = 8, .nodes = 2};

CostModel three_algorithms() {
  CostModel model;
  model.add(kTwoNodes, "ring", {.latency_us = 400, .us_per_byte = 1e-3});
  model.add(kTwoNodes, "doubling", {.latency_us = 50, .us_per_byte = 8e-3});
  model.add(kTwoNodes, "direct", {.latency_us = 100, .us_per_byte = 2e-3});
  model.add(kTwoNodes, "never", {.latency_us = 390, .us_per_byte = 1.9e-3});
  return model;
}

TEST(CostModel, RangesAreWhereTheLinesCross) {
  const auto ranges = three_algorithms().ranges(kTwoNodes);
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(ranges[0].algorithm, "doubling");
  EXPECT_EQ(ranges[0].from_bytes, 0);
  EXPECT_EQ(ranges[1].algorithm, "direct");
  EXPECT_NEAR(ranges[1].from_bytes, 50 / 6e-3, 1e-6);
  EXPECT_EQ(ranges[2].algorithm, "ring");
  EXPECT_NEAR(ranges[2].from_bytes, 300 / 1e-3, 1e-6);
}

TEST(CostModel, ChoosesWhatItsRangesSay) {
  const CostModel model = three_algorithms();
  const auto ranges = model.ranges(kTwoNodes);
  for (std::size_t bytes = 1; bytes < std::size_t{1} << 32; bytes = bytes * 3 / 2 + 1) {
    std::string expected;
    for (const auto& range : ranges)
      if (static_cast<double>(bytes) >= range.from_bytes) expected = range.algorithm;
    EXPECT_EQ(model.choose(bytes, kTwoNodes), expected) << bytes;
  }
}

TEST(CostModel, AnUnknownPlaceIsJudgedByTheOneMostLikeIt) {
  CostModel model;
  EXPECT_EQ(model.choose(1, kTwoNodes), "");
  EXPECT_TRUE(model.ranges(kTwoNodes).empty());
  model.add({.ranks = 4, .nodes = 1}, "shm", {.latency_us = 1, .us_per_byte = 1e-4});
  model.add({.ranks = 4, .nodes = 2}, "four", {.latency_us = 1, .us_per_byte = 1});
  model.add({.ranks = 64, .nodes = 2}, "many", {.latency_us = 1, .us_per_byte = 1});
  model.add({.ranks = 64, .nodes = 16}, "wide", {.latency_us = 1, .us_per_byte = 1});
  EXPECT_EQ(model.choose(1, {.ranks = 64, .nodes = 1}), "shm");
  EXPECT_EQ(model.choose(1, {.ranks = 6, .nodes = 2}), "four");
  EXPECT_EQ(model.choose(1, {.ranks = 32, .nodes = 2}), "many");
  EXPECT_EQ(model.choose(1, {.ranks = 32, .nodes = 8}), "wide");
}

TEST(CostModel, ALaterMeasurementReplacesAnEarlierOne) {
  CostModel model = three_algorithms();
  model.add(kTwoNodes, "ring", {.latency_us = 1, .us_per_byte = 1e-6});
  ASSERT_EQ(model.ranges(kTwoNodes).size(), 1u);
  EXPECT_EQ(model.choose(4, kTwoNodes), "ring");
  EXPECT_EQ(model.algorithms(kTwoNodes).size(), 4u);
}

TEST(CostModel, ReadsAsATable) {
  EXPECT_EQ(three_algorithms().text(),
            "ranks  nodes     from       to  algorithm   latency  bandwidth\n"
            "    8      2      0 B  8.1 KiB  doubling    50.0 us  0.12 GB/s\n"
            "    8      2  8.1 KiB  293 KiB  direct     100.0 us  0.50 GB/s\n"
            "    8      2  293 KiB      any  ring       400.0 us  1.00 GB/s\n");
}

}  // namespace
}  // namespace ronde::bench::detail
