#include "ronde/train/precision/loss_scaler.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::train {
namespace {

void good_steps(LossScaler& scaler, int count) {
  for (int i = 0; i < count; ++i) scaler.step_was_good();
}

TEST(LossScaler, IsHalvedByAnOverflow) {
  LossScaler scaler = scaler_of(0);
  EXPECT_EQ(scaler.scale, 65536);
  scaler.step_overflowed();
  scaler.step_overflowed();
  EXPECT_EQ(scaler.scale, 16384);
  EXPECT_EQ(scaler.skipped, 2);
}

TEST(LossScaler, IsDoubledAfterManyGoodSteps) {
  LossScaler scaler = scaler_of(0);
  good_steps(scaler, 1999);
  EXPECT_EQ(scaler.scale, 65536);
  good_steps(scaler, 1);
  EXPECT_EQ(scaler.scale, 131072);
  good_steps(scaler, 1999);
  scaler.step_overflowed();  // they begin again
  good_steps(scaler, 1999);
  EXPECT_EQ(scaler.scale, 65536);
  good_steps(scaler, 1);
  EXPECT_EQ(scaler.scale, 131072);
}

TEST(LossScaler, GrowsNoFurtherThanHelps) {
  LossScaler scaler = scaler_of(0);
  good_steps(scaler, 2000 * 20);
  EXPECT_EQ(scaler.scale, LossScaler::kMost);
}

TEST(LossScaler, GivesUpWhenNoScaleHelps) {
  LossScaler scaler = scaler_of(0);
  for (int i = 0; i < 29; ++i) scaler.step_overflowed();
  EXPECT_FALSE(scaler.hopeless());
  good_steps(scaler, 1);
  for (int i = 0; i < 29; ++i) scaler.step_overflowed();
  EXPECT_FALSE(scaler.hopeless());
  scaler.step_overflowed();
  EXPECT_TRUE(scaler.hopeless());
}

TEST(LossScaler, StaysWhereItIsFixed) {
  LossScaler scaler = scaler_of(1024);
  good_steps(scaler, 5000);
  scaler.step_overflowed();
  EXPECT_EQ(scaler.scale, 1024);
  EXPECT_EQ(scaler.skipped, 1);
}

TEST(LossScaler, GoesThroughACheckpoint) {
  LossScaler scaler = scaler_of(0);
  good_steps(scaler, 120);
  scaler.step_overflowed();
  good_steps(scaler, 7);
  EXPECT_EQ(to_text(scaler), "32768 7 0 1");
  EXPECT_EQ(parse_scaler(to_text(scaler), scaler_of(0)), scaler);
  EXPECT_EQ(parse_scaler(to_text(scaler), scaler_of(512)).scale, 512) << "what the user says now counts";
  EXPECT_EQ(parse_scaler(to_text(scaler_of(512)), scaler_of(0)).scale, 65536) << "a fixed one tells nothing";
  for (const char* text : {"", "much", "65536", "-1 0 0 0", "nan 0 0 0"})
    EXPECT_THROW(parse_scaler(text, scaler_of(0)), Error) << text;
}

}  // namespace
}  // namespace ronde::train
