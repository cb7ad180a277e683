#include "ronde/base/settings/settings.h"
#include "ronde/trace/settings.h"

#include <gtest/gtest.h>

namespace ronde::trace {
namespace {

TEST(TraceSettings, NothingIsRecordedWithoutAFolder) {
  EXPECT_FALSE(options_from(Settings()));
}

TEST(TraceSettings, BecomeOptions) {
  const auto options = options_from(Settings::load(
      Environment{},
      {{"trace.dir", "out"}, {"trace.bytes", "2MiB"}, {"trace.steps", "3..5"}, {"trace.filter", "-make"}}));
  ASSERT_TRUE(options);
  EXPECT_EQ(options->folder, "out");
  EXPECT_EQ(options->bytes, 2u << 20);
  EXPECT_EQ(options->filter, "-make");
  EXPECT_TRUE(options->steps.contains(5));
  EXPECT_FALSE(options->steps.contains(6));
}

}  // namespace
}  // namespace ronde::trace
