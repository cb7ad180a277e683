#include "ronde/tune/detail/result_line.h"

#include <gtest/gtest.h>

namespace ronde::tune {
namespace {

TEST(ResultLine, IsAnObjectOfJson) {
  EXPECT_EQ(parse_result_line(R"({"loss": 0.5})"), (nlohmann::json{{"loss", 0.5}}));
  EXPECT_EQ(parse_result_line(" {\"a\": {\"b\": [1, 2]}}\r"), (nlohmann::json{{"a", {{"b", {1, 2}}}}}));
  for (const char* other : {"", "epoch 3", "[1, 2]", "3", "{loss: 0.5}", R"({"loss": 0.5)", "null"})
    EXPECT_FALSE(parse_result_line(other)) << other;
}

TEST(ResultLine, TakesWhatPythonWritesOfNumbersThatAreNone) {
  const auto result = parse_result_line(R"({"loss": NaN, "high": Infinity, "low": [-Infinity], "text": "NaN \" NaN"})");
  ASSERT_TRUE(result);
  EXPECT_TRUE((*result)["loss"].is_null());
  EXPECT_TRUE((*result)["high"].is_null());
  EXPECT_TRUE((*result)["low"][0].is_null());
  EXPECT_EQ((*result)["text"], "NaN \" NaN");
}

}  // namespace
}  // namespace ronde::tune
