#include "ronde/device/device.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::device {
namespace {

TEST(DeviceWithoutCuda, SaysThatTheBuildHasNone) {
  EXPECT_EQ(count(), 0);
  EXPECT_EQ(why_none(), "this build has no CUDA");
  EXPECT_EQ(runtime_version(), "");
  EXPECT_EQ(driver_version(), "");
  try {
    require_gpu(0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "GPU 0 is not available: this build has no CUDA");
  }
}

}  // namespace
}  // namespace ronde::device
