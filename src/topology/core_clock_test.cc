#include "ronde/topology/core_clock.h"

#include <gtest/gtest.h>

namespace ronde::topology {
namespace {

#if defined(__OPTIMIZE__)
constexpr double kLeast = 0.3;
#else
constexpr double kLeast = 0.01;  // sums go through memory
#endif

// No core of a machine that trains is slower or faster than this.
TEST(CoreClock, IsThatOfACore) {
  const double ghz = core_clock_ghz();
  EXPECT_GT(ghz, kLeast);
  EXPECT_LT(ghz, 10);
}

TEST(CoreClock, TakesAboutTheTimeItIsGiven) {
  using std::chrono::steady_clock;
  const auto begin = steady_clock::now();
  core_clock_ghz(std::chrono::milliseconds(5));
  EXPECT_GE(steady_clock::now() - begin, std::chrono::milliseconds(5));
  EXPECT_GT(core_clock_ghz(std::chrono::nanoseconds(0)), kLeast) << "one piece is measured in any case";
}

}  // namespace
}  // namespace ronde::topology
