#include "ronde/launch/run/outcome.h"

#include <csignal>
#include <vector>

#include <gtest/gtest.h>

namespace ronde::launch {
namespace {

using Texts = std::vector<std::string>;

constexpr Outcome kFine{.code = 0, .signal = 0};
constexpr Outcome kSeven{.code = 7, .signal = 0};
constexpr Outcome kKilled{.code = 0, .signal = SIGKILL};
constexpr Outcome kContinued{.code = 75, .signal = 0};

TEST(Outcome, SaysHowAProcessEnded) {
  EXPECT_EQ(describe(kSeven), "exit code 7");
  EXPECT_EQ(describe(kKilled), "signal 9 (killed)");
  EXPECT_EQ(describe({.code = 0, .signal = SIGSEGV}), "signal 11 (segmentation fault)");
  EXPECT_EQ(kSeven.exit_code(), 7);
  EXPECT_EQ(kKilled.exit_code(), 137);
  EXPECT_FALSE(kFine.failed());
  EXPECT_EQ(Outcome::from_status(7 << 8), kSeven);
  EXPECT_EQ(Outcome::from_status(SIGKILL), kKilled);
}

TEST(Verdict, TheFirstFailureCounts) {
  Verdict verdict;
  verdict.rank_ended(0, kFine);
  EXPECT_EQ(verdict.exit_code(), 0);
  verdict.rank_ended(2, kSeven);
  verdict.rank_ended(1, kKilled);
  EXPECT_EQ(verdict.first_failure()->rank, 2);
  EXPECT_EQ(verdict.exit_code(), 7);
}

TEST(Verdict, WhatHappensAfterAnInterruptIsNoFailure) {
  Verdict verdict;
  verdict.interrupted(SIGINT);
  verdict.rank_ended(0, kKilled);
  EXPECT_FALSE(verdict.first_failure());
  EXPECT_EQ(verdict.exit_code(), 130);
  EXPECT_EQ(verdict.last_words("b2", {}, Paint()), "stopped by signal 2 (interrupt)\n");
}

TEST(Verdict, AnInterruptAfterAFailureChangesNothing) {
  Verdict verdict;
  verdict.rank_ended(3, kKilled);
  verdict.interrupted(SIGINT);
  EXPECT_EQ(verdict.exit_code(), 137);
}

TEST(Verdict, ARankThatIsToBeContinuedHasNotFailed) {
  EXPECT_FALSE(kContinued.failed());
  Verdict verdict;
  verdict.rank_ended(1, kContinued);
  verdict.rank_ended(0, kFine);
  EXPECT_EQ(verdict.exit_code(), 75);
  EXPECT_FALSE(verdict.first_failure());
  EXPECT_EQ(verdict.last_words("b2", {}, Paint()), "");
  verdict.rank_ended(2, kSeven);
  EXPECT_EQ(verdict.exit_code(), 7) << "one that failed counts more";
}

TEST(Verdict, AJobThatWasToldToStopIsToBeContinuedWhenItsRanksSayso) {
  Verdict verdict;
  verdict.interrupted(SIGTERM);
  verdict.rank_ended(0, kContinued);
  EXPECT_EQ(verdict.exit_code(), 75);
  EXPECT_EQ(verdict.last_words("b2", {}, Paint()), "stopped by signal 15 (terminated), to be continued\n");
  verdict.rank_ended(1, kKilled);
  EXPECT_EQ(verdict.exit_code(), 143) << "not all ranks had the time";
  EXPECT_EQ(verdict.last_words("b2", {}, Paint()), "stopped by signal 15 (terminated)\n");
}

TEST(Verdict, LastWordsEndWithWhoFailedFirst) {
  Verdict verdict;
  EXPECT_EQ(verdict.last_words("b2", {}, Paint()), "") << "nothing to say after a job that went well";
  verdict.rank_ended(1, kSeven);
  EXPECT_EQ(verdict.last_words("b2", {}, Paint()), "rank 1 on b2 failed first: exit code 7\n");
  EXPECT_EQ(verdict.last_words("b2", Texts{"boom"}, Paint()),
            "--- the last line of rank 1:\n  boom\nrank 1 on b2 failed first: exit code 7\n");
  EXPECT_EQ(verdict.last_words("b2", Texts{"x", ""}, Paint()),
            "--- the last 2 lines of rank 1:\n  x\n  \nrank 1 on b2 failed first: exit code 7\n");
}

}  // namespace
}  // namespace ronde::launch
