#include "ronde/launch/process/escalation.h"

#include <csignal>

#include <gtest/gtest.h>

namespace ronde::launch::detail {
namespace {

using namespace std::chrono_literals;
constexpr auto kNothing = std::nullopt;
const Escalation::Time kStart{1000s};

TEST(Escalation, KillsAfterTheGraceTime) {
  Escalation escalation(10s);
  EXPECT_EQ(escalation.next(), kNothing);
  EXPECT_EQ(escalation.tick(kStart), kNothing) << "nobody is to be stopped";
  EXPECT_EQ(escalation.begin(SIGTERM, kStart), SIGTERM);
  EXPECT_EQ(escalation.next(), kStart + 10s);
  EXPECT_EQ(escalation.tick(kStart + 9s), kNothing);
  EXPECT_EQ(escalation.tick(kStart + 10s), SIGKILL);
  EXPECT_EQ(escalation.tick(kStart + 11s), kNothing) << "once";
  EXPECT_EQ(escalation.next(), kNothing);
}

TEST(Escalation, ASecondFailureDoesNotExtendTheTime) {
  Escalation escalation(10s);
  escalation.begin(SIGTERM, kStart);
  EXPECT_EQ(escalation.begin(SIGTERM, kStart + 5s), kNothing);
  EXPECT_EQ(escalation.next(), kStart + 10s);
}

TEST(Escalation, WhoAsksTwiceIsObeyedAtOnce) {
  Escalation escalation(10s);
  EXPECT_EQ(escalation.ask(SIGINT, kStart), SIGINT);
  EXPECT_EQ(escalation.ask(SIGINT, kStart + 1s), SIGKILL);
  EXPECT_EQ(escalation.ask(SIGINT, kStart + 2s), kNothing);
}

TEST(Escalation, AnEchoIsNoSecondRequest) {
  Escalation escalation(10s);
  EXPECT_EQ(escalation.ask(SIGTERM, kStart), SIGTERM);
  EXPECT_EQ(escalation.ask(SIGTERM, kStart + 1ms), kNothing);
  EXPECT_EQ(escalation.ask(SIGTERM, kStart + 2ms), kNothing);
  EXPECT_EQ(escalation.tick(kStart + 10s), SIGKILL);
}

TEST(Escalation, AUserNeedNotWaitForRanksThatAreBeingStopped) {
  Escalation escalation(10s);
  escalation.begin(SIGTERM, kStart);
  EXPECT_EQ(escalation.ask(SIGINT, kStart + 1ms), SIGKILL);
}

TEST(Escalation, KillNeedsNoBeginning) {
  Escalation escalation(10s);
  EXPECT_EQ(escalation.kill(), SIGKILL);
  EXPECT_EQ(escalation.begin(SIGTERM, kStart), kNothing);
  EXPECT_EQ(escalation.next(), kNothing);
}

TEST(Escalation, NoGraceAtAll) {
  Escalation escalation(0s);
  EXPECT_EQ(escalation.begin(SIGTERM, kStart), SIGTERM);
  EXPECT_EQ(escalation.tick(kStart), SIGKILL);
}

}  // namespace
}  // namespace ronde::launch::detail
