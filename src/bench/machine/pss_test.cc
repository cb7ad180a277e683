#include "ronde/bench/machine/pss.h"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

namespace ronde::bench::detail {
namespace {

TEST(Pss, FromTheKernelsText) {
  EXPECT_EQ(parse_pss("55d0-7ffc ---p 00000000 00:00 0   [rollup]\n"
                      "Rss:                4712 kB\nPss:                1234 kB\nPss_Dirty:           9 kB\n"),
            1234u * 1024);
  EXPECT_EQ(parse_pss(""), 0u);
  EXPECT_EQ(parse_pss("Pss: many kB\n"), 0u);
}

TEST(Pss, APeakIsSeen) {
  PssPeak peak;
  while (peak.bytes() == 0) std::this_thread::yield();
  const std::uint64_t before = peak.bytes();
  const std::vector<char> memory(64 << 20, 'x');
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (peak.bytes() < before + memory.size() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_GE(peak.bytes(), before + memory.size());
}

}  // namespace
}  // namespace ronde::bench::detail
