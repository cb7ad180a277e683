#include "ronde/train/input/input.h"

#include <chrono>

#include <gtest/gtest.h>

namespace ronde::train {
namespace {

using namespace std::chrono_literals;
using data::StageStats;

TEST(Input, SaysWhichStageLimitsAndWhatToDo) {
  const StageStats reading{.name = "read", .busy = 990ms, .input = 10ms},
      idle{.name = "read", .busy = 10ms, .room = 990ms};
  const StageStats decoding{.name = "decode", .busy = 990ms, .input = 10ms},
      hungry{.name = "decode", .busy = 100ms, .input = 900ms};
  EXPECT_NE(why_input_waits({reading, hungry}).find("reading is the limit"), std::string::npos);
  EXPECT_NE(why_input_waits({idle, decoding}).find("'decode' is the limit: more data.threads"), std::string::npos);
  EXPECT_NE(why_input_waits({idle, hungry}).find("data.prefetch"), std::string::npos);
}

TEST(Input, WindowIsForChunksOnly) {
  TrainingOptions options{.data = {.window = 5}};
  EXPECT_EQ(window_of(options), 0);
  options.data.shuffle = "chunks";
  EXPECT_EQ(window_of(options), 5);
}

}  // namespace
}  // namespace ronde::train
