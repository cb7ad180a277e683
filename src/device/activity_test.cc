#include "ronde/device/activity.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/device/device.h"

// What holds with and without CUPTI.
namespace ronde::device {
namespace {

TEST(Activity, WithoutAGpuItSaysWhy) {
  if (count() > 0) GTEST_SKIP() << "there is a GPU here";
  EXPECT_EQ(why_no_activity(), why_none());
  try {
    ActivityRecorder recorder([](std::span<const Activity>) {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::System);
    EXPECT_EQ(error.message(), why_none());
  }
}

}  // namespace
}  // namespace ronde::device
