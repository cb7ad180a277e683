#include "ronde/train/loop/checkpoint_manager.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::train {
namespace {

TEST(Every, ReadsStepsAndTimes) {
  EXPECT_EQ(parse_every("500"), (Every{.steps = 500}));
  EXPECT_EQ(parse_every("0"), Every{});
  EXPECT_EQ(parse_every("10min"), (Every{.time = std::chrono::minutes(10)}));
  EXPECT_EQ(parse_every("auto"), (Every{.automatic = true}));
}

TEST(Every, RefusesTheRest) {
  for (const char* text : {"often", "-3", "1.5", ""}) EXPECT_THROW(parse_every(text), Error) << text;
}

TEST(FindCheckpoint, SaysWhenThereIsNone) {
  EXPECT_THROW(find_checkpoint("/nowhere/at/all"), Error);
}

}  // namespace
}  // namespace ronde::train
