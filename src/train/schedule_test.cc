#include "ronde/train/schedule.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::train {
namespace {

TEST(Schedule, WarmsUpFromZero) {
  const Schedule schedule{.rate = 0.4, .warmup = 2, .epochs = 10};
  EXPECT_DOUBLE_EQ(schedule.at(0), 0);
  EXPECT_DOUBLE_EQ(schedule.at(0.5), 0.1);
  EXPECT_DOUBLE_EQ(schedule.at(2), 0.4);
  EXPECT_DOUBLE_EQ(schedule.at(9.9), 0.4);
}

TEST(Schedule, CosineGoesToZero) {
  const Schedule schedule{.name = "cosine", .rate = 0.4, .warmup = 1, .epochs = 5};
  EXPECT_DOUBLE_EQ(schedule.at(1), 0.4);
  EXPECT_NEAR(schedule.at(3), 0.2, 1e-12);
  EXPECT_NEAR(schedule.at(5), 0, 1e-12);
  EXPECT_NEAR(schedule.at(6), 0, 1e-12);
}

TEST(Schedule, AWarmUpBeyondTheEndIsRefused) {
  Settings settings;
  settings.set("schedule.warmup", "3", "test");
  settings.set("train.epochs", "2", "test");
  EXPECT_THROW(schedule_of(settings), Error);
}

}  // namespace
}  // namespace ronde::train
