#include "ronde/base/text/text.h"

#include <gtest/gtest.h>

namespace ronde {
namespace {

TEST(Text, TrimsAndSplits) {
  EXPECT_EQ(trim("  a b\t\n"), "a b");
  EXPECT_EQ(trim(" \t"), "");
  EXPECT_EQ(split("a||b", '|'), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", '|'), std::vector<std::string_view>{""});
}

TEST(Text, Joins) {
  EXPECT_EQ(join(std::vector<std::string>{"a", "b"}, ", "), "a, b");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(Text, ANumberIsTheWholeText) {
  EXPECT_EQ(parse_number<int>("-12"), -12);
  EXPECT_EQ(parse_number<double>("0.5"), 0.5);
  for (const char* text : {"", "12x", " 12", "+1", "99999999999"})
    EXPECT_EQ(parse_number<int>(text), std::nullopt) << text;
}

TEST(Text, CountsThings) {
  EXPECT_EQ(counted(0, "core"), "0 cores");
  EXPECT_EQ(counted(1, "core"), "1 core");
}

TEST(Text, CountsEdits) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("comm", "comm"), 0);
  EXPECT_EQ(edit_distance("byets", "bytes"), 1) << "a swap of neighbours is one slip";
}

TEST(Text, SuggestsOnlyWhatMayBeMeant) {
  const std::vector<std::string> keys = {"trace.bytes", "trace.steps", "log.level"};
  EXPECT_EQ(nearest("trace.byets", keys), "trace.bytes");
  EXPECT_EQ(nearest("tracesteps", keys), "trace.steps");
  EXPECT_EQ(nearest("learning_rate", keys), std::nullopt);
  EXPECT_EQ(nearest("x", {}), std::nullopt);
}

TEST(Text, PatternsHaveStars) {
  EXPECT_TRUE(matches("forward", "forward"));
  EXPECT_FALSE(matches("forward", "forward "));
  EXPECT_FALSE(matches("forward", "forwar"));
  EXPECT_TRUE(matches("wait*", "wait"));
  EXPECT_TRUE(matches("wait*", "wait for input"));
  EXPECT_FALSE(matches("wait*", "await"));
  EXPECT_TRUE(matches("*.conv1", "layer1.0.conv1"));
  EXPECT_FALSE(matches("*.conv1", "layer1.0.conv1.weight"));
  EXPECT_TRUE(matches("layer*.conv*", "layer1.0.conv1"));
  EXPECT_TRUE(matches("a*b*c", "a-b-b-c-c"));
  EXPECT_FALSE(matches("a*b*c", "a-c-b"));
  EXPECT_TRUE(matches("*ab", "aab"));
  EXPECT_TRUE(matches("**", ""));
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_FALSE(matches("[a]", "a")) << "only * has a meaning of its own";
}

}  // namespace
}  // namespace ronde
