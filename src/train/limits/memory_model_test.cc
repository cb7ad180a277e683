#include "ronde/train/limits/memory_model.h"

#include <gtest/gtest.h>

namespace ronde::train {
namespace {

TEST(MemoryModel, ALineGoesThroughItsPoints) {
  const Line line = Line::through({2, 120}, {4, 140});
  EXPECT_EQ(line.fixed, 100);
  EXPECT_EQ(line.per_sample, 10);
  EXPECT_EQ(line.at(8), 180);
}

TEST(MemoryModel, WhatDoesNotGrowIsLevel) {
  EXPECT_EQ(Line::through({2, 50}, {4, 50}).at(1000), 50);
  EXPECT_EQ(Line::through({2, 50}, {4, 40}).at(1000), 50);  // a smaller batch may take another algorithm
  EXPECT_EQ(Line::through({2, 10}, {4, 30}).at(0), 0);      // and never less than nothing
}

// Two places: all gradients (fixed), and all activations.
StepMemory two_places() {
  return fit_step(std::vector<double>{1000, 120}, 2, std::vector<double>{1000, 140}, 4);
}

TEST(MemoryModel, ThePeakMovesWithTheBatch) {
  const StepMemory step = two_places();
  EXPECT_EQ(step.peak(1), 1000u);
  EXPECT_EQ(step.peak(90), 1000u);
  EXPECT_EQ(step.peak(91), 1010u);
  EXPECT_EQ(step.peak(1000), 10'100u);
}

TEST(MemoryModel, TheLargestBatchIsThatOfThePeak) {
  const StepMemory step = two_places();
  EXPECT_EQ(step.largest(999), 0);
  EXPECT_EQ(step.largest(1000), 90);
  for (const double bytes : {1000.0, 1234.0, 5000.0, 1e9}) {
    const std::int64_t most = step.largest(bytes);
    EXPECT_LE(static_cast<double>(step.peak(most)), bytes);
    EXPECT_GT(static_cast<double>(step.peak(most + 1)), bytes);
  }
  EXPECT_EQ(step.largest(0), 0);
  EXPECT_GT(fit_step(std::vector<double>{5}, 1, std::vector<double>{5}, 2).largest(10), 1'000'000);  // nothing grows
}

TEST(MemoryModel, StepsThatDifferAreKnownByTheirPeaks) {
  const StepMemory step = fit_step(std::vector<double>{10, 30}, 1, std::vector<double>{10, 20, 50}, 2);
  ASSERT_EQ(step.places.size(), 1u);
  EXPECT_EQ(step.peak(3), 70u);
}

}  // namespace
}  // namespace ronde::train
