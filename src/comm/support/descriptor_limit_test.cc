#include "ronde/comm/support/descriptor_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace ronde::comm::support {
namespace {

TEST(DescriptorLimit, TheSoftOneBecomesTheHardOne) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 100;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(raise_descriptor_limit(), before.rlim_max);
  rlimit after{};
  getrlimit(RLIMIT_NOFILE, &after);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  EXPECT_EQ(after.rlim_max, before.rlim_max);
  EXPECT_EQ(raise_descriptor_limit(), before.rlim_max) << "nothing is left to raise";
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace ronde::comm::support
