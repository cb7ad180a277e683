#include "ronde/train/session/interrupt.h"

#include <csignal>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

namespace ronde::train {
namespace {

TEST(Interrupt, KeepsCtrlC) {
  const Interrupt interrupt;
  EXPECT_FALSE(interrupt.asked());
  std::raise(SIGINT);
  EXPECT_TRUE(interrupt.asked());
  EXPECT_FALSE(interrupt.asked_to_leave());
}

TEST(Interrupt, KeepsWhatSchedulersSay) {
  for (const auto& [signal, name] : {std::pair{SIGTERM, "SIGTERM"}, {SIGUSR1, "SIGUSR1"}}) {
    const Interrupt interrupt;
    EXPECT_FALSE(interrupt.asked_to_leave());
    for (int i = 0; i < 3; ++i) std::raise(signal);  // of SIGTERM, the others are echoes
    EXPECT_EQ(interrupt.asked_to_leave(), name);
    EXPECT_FALSE(interrupt.asked());
  }
}

using InterruptDeathTest = testing::Test;

TEST(InterruptDeathTest, TheSecondCtrlCEndsAtOnce) {
  EXPECT_EXIT(
      {
        const Interrupt interrupt;
        std::raise(SIGINT);
        std::raise(SIGINT);
        std::exit(0);
      },
      testing::ExitedWithCode(130), "");
}

TEST(InterruptDeathTest, TheSecondTerminateEndsAtOnceUnlessItIsAnEcho) {
  EXPECT_EXIT(
      {
        const Interrupt interrupt;
        std::raise(SIGTERM);
        std::raise(SIGTERM);
        std::this_thread::sleep_for(Interrupt::kEcho * 3 / 2);
        std::raise(SIGUSR1);
        std::fputs("still here\n", stderr);
        std::raise(SIGTERM);
        std::exit(0);
      },
      testing::ExitedWithCode(143), "still here");
}

TEST(InterruptDeathTest, AfterwardsSignalsEndTheProcess) {
  EXPECT_EXIT(
      {
        { const Interrupt interrupt; }
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace ronde::train
