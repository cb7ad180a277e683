#include "ronde/trace/record/span_filter.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::trace::detail {
namespace {

TEST(SpanFilter, OnlyTheseOrAllButThese) {
  const SpanFilter only("forward, backward,wait*");
  EXPECT_TRUE(only.keeps("backward") && only.keeps("wait for input"));
  EXPECT_FALSE(only.keeps("optimizer"));
  const SpanFilter without("-make,-wait for peers");
  EXPECT_TRUE(without.keeps("optimizer"));
  EXPECT_FALSE(without.keeps("make") || without.keeps("wait for peers"));
  const SpanFilter both("wait*, - wait for room");
  EXPECT_TRUE(both.keeps("wait for input"));
  EXPECT_FALSE(both.keeps("wait for room") || both.keeps("forward"));
}

TEST(SpanFilter, WithoutPatternsEverythingIsKept) {
  EXPECT_TRUE(SpanFilter().keeps_all());
  EXPECT_TRUE(SpanFilter("  ").keeps_all());
  EXPECT_TRUE(SpanFilter("").keeps("anything"));
  EXPECT_FALSE(SpanFilter("*").keeps_all());
  EXPECT_TRUE(SpanFilter("*").keeps("anything"));
}

TEST(SpanFilter, APatternWithoutATextIsAnError) {
  for (const char* patterns : {"a,,b", "a,", "-", "a,- "}) {
    try {
      const SpanFilter filter(patterns);
      ADD_FAILURE() << patterns;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::BadInput);
      EXPECT_NE(std::string(error.what()).find(patterns), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace ronde::trace::detail
