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
  Settings settings;
  settings.set("data.window", "5", "test");
  EXPECT_EQ(window_of(settings), 0);
  settings.set("data.shuffle", "chunks", "test");
  EXPECT_EQ(window_of(settings), 5);
}

}  // namespace
}  // namespace ronde::train
