#include "ronde/trace/shared_clock.h"

#include <gtest/gtest.h>

namespace ronde::trace {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000, kWall = 1'767'225'600 * kSecond;

ReadClocks measured(std::int64_t trace, std::int64_t reference) {
  return {.local = trace - 7, .trace = trace, .reference = reference};
}

TEST(SharedClock, LeavesTimesAsTheyAreWhenNothingIsKnown) {
  SharedClock clock;
  clock.add({.local = 1, .trace = 2});
  EXPECT_FALSE(clock.known());
  EXPECT_EQ(clock.to_shared(42), 42);
}

TEST(SharedClock, RemovesOffsetAndDrift) {
  SharedClock clock;
  clock.add(measured(0, 500));
  EXPECT_TRUE(clock.known());
  EXPECT_EQ(clock.to_shared(3 * kSecond), 3 * kSecond + 500);
  EXPECT_EQ(clock.file_ahead(), -500);
  clock.add(measured(10 * kSecond, 10 * kSecond + 700));  // it loses 20 ns a second
  EXPECT_EQ(clock.to_shared(0), 500);
  EXPECT_EQ(clock.to_shared(5 * kSecond), 5 * kSecond + 600);
  EXPECT_EQ(clock.to_shared(20 * kSecond), 20 * kSecond + 900) << "a clock that drifts goes on drifting";
  clock.add(measured(20 * kSecond, 20 * kSecond + 800));
  EXPECT_EQ(clock.to_shared(15 * kSecond), 15 * kSecond + 750);
}

TEST(SharedClock, IsExactForWallClockTimes) {
  SharedClock clock;
  clock.add(measured(kWall, 1'000 * kSecond));
  clock.add(measured(kWall + 100 * kSecond, 1'100 * kSecond + 1'000));
  EXPECT_EQ(clock.to_shared(kWall + 1), 1'000 * kSecond + 1);
  EXPECT_EQ(clock.to_shared(kWall + 50 * kSecond), 1'050 * kSecond + 500);
}

TEST(SharedClock, TakesTheMeanOfMeasurementsThatFollowOneAnotherAtOnce) {
  SharedClock clock;
  for (const std::int64_t noise : {-300, 300, -300, 300})
    clock.add(measured(kWall + 1'000'000 + noise, kWall + 1'000'000 + 2 * noise));
  for (const std::int64_t at : {0, 1'000'000, 5'000'000}) EXPECT_EQ(clock.to_shared(kWall + at), kWall + at);
}

TEST(SharedClock, IsNotTurnedAroundByMeasurementsThatCannotBe) {
  SharedClock clock;
  clock.add(measured(10 * kSecond, 10 * kSecond));
  clock.add(measured(5 * kSecond, 99 * kSecond));            // out of order
  clock.add(measured(20 * kSecond, std::int64_t{1} << 60));  // centuries ahead
  const std::int64_t before = clock.to_shared(11 * kSecond), after = clock.to_shared(12 * kSecond);
  EXPECT_GT(after, before);
  EXPECT_LT(after - before, 2 * kSecond);
}

}  // namespace
}  // namespace ronde::trace
