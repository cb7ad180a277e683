#include "ronde/trace/record/tick_clock.h"

#include <chrono>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

namespace ronde::trace::detail {
namespace {

TEST(TickLine, GoesThroughItsSamples) {
  TickLine line({1'000, 50});
  line.add({27'000'000 + 1'000, 10'000'050});  // 2.7 GHz
  EXPECT_EQ(line.to_ns(1'000), 50);
  EXPECT_EQ(line.to_ns(13'500'000 + 1'000), 5'000'050);
  EXPECT_EQ(line.to_ns(27'000'000 + 1'000), 10'000'050);
}

TEST(TickLine, FollowsARateThatChanges) {
  TickLine line({0, 0});
  line.add({20'000'000, 10'000'000});
  line.add({40'000'000, 30'000'000});  // NTP now lets the clock run twice as fast
  EXPECT_EQ(line.to_ns(30'000'000), 20'000'000);
}

TEST(TickLine, QuickSamplesDoNotBendTheSlope) {
  TickLine line({0, 0});
  line.add({200'000'000, 100'000'000});
  line.add({200'002'000, 100'001'050});  // 1 us later and 50 ns off: a slope from these two would be 5 % wrong
  EXPECT_NEAR(static_cast<double>(line.to_ns(220'000'000)), 110'000'000, 100);
}

TEST(TickLine, ManyQuickSamplesKeepTheBaseline) {
  TickLine line({0, 0});
  for (std::uint64_t i = 1; i <= 100'000; ++i)
    line.add({i * 20'000, static_cast<std::int64_t>(i * 10'000 + i % 2 * 20)});
  EXPECT_NEAR(static_cast<double>(line.to_ns(2'002'000'000)), 1'001'000'000, 60);
}

TEST(TickClock, BothSourcesAgreeWithTheMonotonicClock) {
  for (const TickClock clock : {TickClock::best(), TickClock(TickClock::Source::Monotonic)}) {
    TickLine line(clock.sample());
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const std::uint64_t ticks = clock.now();
    const std::int64_t ns = monotonic_ns();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    line.add(clock.sample());
    EXPECT_NEAR(static_cast<double>(line.to_ns(ticks) - ns), 0, 200'000) << clock.name();  // slack for being preempted
  }
}

TEST(TickClock, ThePreemptedSampleIsNotTheOneThatCounts) {
  const TickClock clock = TickClock::best();
  const TickClock::Sample first = clock.sample();
  TickLine line(first);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  line.add(clock.sample());
  std::int64_t closest = 1'000'000;
  for (int i = 0; i < 100; ++i) {
    const TickClock::Sample now = clock.sample();
    closest = std::min(closest, std::abs(line.to_ns(now.ticks) - now.ns));
  }
  EXPECT_LT(closest, 1'000);
}

}  // namespace
}  // namespace ronde::trace::detail
