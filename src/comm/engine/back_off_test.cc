#include "ronde/comm/engine/back_off.h"

#include <gtest/gtest.h>

namespace ronde::comm::detail {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr BackOff::Limits kMpi{50us, 100ms, 50}, kElsewhere{10ms, 150ms, 10};

// Wake-ups in [begin, end) of a wait.
int wake_ups(BackOff::Limits limits, nanoseconds begin, nanoseconds end) {
  BackOff back_off(limits);
  int count = 0;
  for (nanoseconds now = back_off.next(); now < end; now += back_off.next()) count += now >= begin ? 1 : 0;
  return count;
}

TEST(BackOff, WakesAtMostTenTimesASecondAfterTheFirst) {
  EXPECT_LE(wake_ups(kElsewhere, 0s, 1s), 30);
  for (int second = 1; second < 20; ++second)
    EXPECT_LE(wake_ups(kElsewhere, second * 1s, (second + 1) * 1s), 10) << "second " << second;
}

TEST(BackOff, IsNeverLaterThanAPartOfTheWait) {
  for (const BackOff::Limits limits : {kMpi, kElsewhere}) {
    BackOff back_off(limits);
    nanoseconds waited{0};
    for (int i = 0; i < 1000; ++i) {
      const nanoseconds time = back_off.next();
      EXPECT_LE(time, std::max(limits.shortest + 400us, limits.longest));
      if (time > limits.shortest + 800us) {
        EXPECT_LE(time, limits.shortest + 800us + waited / limits.parts);
      }
      waited += time;
    }
    EXPECT_EQ(back_off.next(), limits.longest);
    back_off.reset();
    EXPECT_EQ(back_off.next(), limits.shortest);
  }
}

}  // namespace
}  // namespace ronde::comm::detail
