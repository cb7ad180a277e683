#include "ronde/bench/machine/busy.h"

#include <gtest/gtest.h>

namespace ronde::bench::detail {
namespace {

TEST(Busy, ReadsTheLineOfAllCores) {
  const auto time = parse_cpu_time("cpu  10 20 30 400 50 1 2 3 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n");
  EXPECT_EQ(time.busy, 66u);
  EXPECT_EQ(time.idle, 450u);
  EXPECT_EQ(parse_cpu_time("nonsense").busy, 0u);
  EXPECT_EQ(parse_cpu_time("").idle, 0u);
}

TEST(Busy, IsAShare) {
  const double share = busy_share();
  EXPECT_GE(share, 0.0);
  EXPECT_LE(share, 1.0);
}

}  // namespace
}  // namespace ronde::bench::detail
