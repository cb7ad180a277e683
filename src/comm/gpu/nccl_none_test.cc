#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/comm/gpu/device_link.h"

namespace ronde::comm::detail {
namespace {

TEST(WithoutNccl, SaysSo) {
  EXPECT_EQ(why_no_nccl(), "this build has no NCCL");
  EXPECT_EQ(nccl_version(), "");
  EXPECT_THROW(make_nccl_id(), Error);
  EXPECT_THROW(make_nccl_link({}), Error);
}

}  // namespace
}  // namespace ronde::comm::detail
