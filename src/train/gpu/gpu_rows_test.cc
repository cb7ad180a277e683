#include "ronde/train/gpu/gpu_rows.h"

#include <gtest/gtest.h>

namespace ronde {
namespace {

TEST(GpuRows, WorkThatFollowsSharesARow) {
  GpuRows rows;
  EXPECT_EQ(rows.place(0, 7, 0, 100'000)->row, 0U);
  EXPECT_EQ(rows.place(0, 7, 100'000, 200'000)->row, 0U);
  EXPECT_EQ(rows.place(0, 7, 500'000, 600'000)->row, 0U);
  EXPECT_EQ(rows.size(), 1U);
}

TEST(GpuRows, StreamsAndDevicesHaveRowsOfTheirOwn) {
  GpuRows rows;
  EXPECT_EQ(rows.place(0, 7, 0, 100)->row, 0U);
  EXPECT_EQ(rows.place(0, 13, 0, 100)->row, 1U);
  EXPECT_EQ(rows.place(1, 7, 0, 100)->row, 2U);
  EXPECT_EQ(rows.place(0, 13, 100, 200)->row, 1U);
}

TEST(GpuRows, ATouchIsNoOverlap) {
  GpuRows rows;
  rows.place(0, 7, 0, 100'000);
  const auto next = rows.place(0, 7, 99'000, 150'000);
  EXPECT_EQ(next->row, 0U);
  EXPECT_EQ(next->begin_ns, 100'000);
}

TEST(GpuRows, WhatOverlapsGoesBeside) {
  GpuRows rows;
  rows.place(0, 7, 0, 100'000);
  const auto beside = rows.place(0, 7, 50'000, 150'000);
  EXPECT_EQ(beside->row, 1U);
  EXPECT_EQ(beside->begin_ns, 50'000);
  EXPECT_EQ(rows.place(0, 7, 99'500, 99'900)->row, 2U) << "inside the first, however short";
  EXPECT_EQ(rows.place(0, 7, 100'000, 160'000)->row, 0U);
}

TEST(GpuRows, WhatIsToldLateKeepsItsTime) {
  GpuRows rows;
  rows.place(0, 7, 1'000'000, 1'100'000);
  const auto late = rows.place(0, 7, 0, 100'000);
  EXPECT_EQ(late->row, 1U);
  EXPECT_EQ(late->begin_ns, 0);
}

TEST(GpuRows, WhereAllRowsAreTakenItIsCutOrLeftOut) {
  GpuRows rows;
  for (std::size_t i = 0; i < GpuRows::kMostRows; ++i) rows.place(0, 7, 0, 100'000);
  EXPECT_EQ(rows.size(), GpuRows::kMostRows);
  EXPECT_FALSE(rows.place(0, 7, 10'000, 20'000));
  const auto cut = rows.place(0, 7, 10'000, 150'000);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->begin_ns, 100'000);
  EXPECT_EQ(rows.size(), GpuRows::kMostRows);
}

}  // namespace
}  // namespace ronde
