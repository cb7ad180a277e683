#include "ronde/train/loop/time_limit.h"
#include "ronde/base/settings/settings.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::train {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr std::chrono::system_clock::time_point kNow{1'700'000'000s};

std::optional<nanoseconds> left(const std::string& training, const std::string& job = "0") {
  Settings settings;
  settings.set("train.deadline", training, "test");
  settings.set("launch.deadline", job, "test");
  return time_left(training_options(settings), kNow);
}

std::string refusal(const std::string& training, const std::string& job = "0") {
  try {
    left(training, job);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return error.message();
  }
  return "";
}

TEST(TimeLeft, IsTheEarlierOfBothDeadlines) {
  EXPECT_EQ(left(""), std::nullopt);
  EXPECT_EQ(left("2h"), 2h);
  EXPECT_EQ(left("1700000090"), 90s);
  EXPECT_EQ(left("", "1700000060"), 60s);
  EXPECT_EQ(left("2h", "1700000060"), 60s);
  EXPECT_EQ(left("30s", "1700000060"), 30s);
}

TEST(TimeLeft, RefusesWhatIsPastInASentence) {
  EXPECT_EQ(refusal("1699999400"), "train.deadline is 1699999400, which was 10 min 0 s ago");
  EXPECT_EQ(refusal("1767225600000"),  // milliseconds
            "train.deadline is 1767225600000, which is not a time in seconds since 1970 UTC");
  EXPECT_EQ(refusal("", "1699999999"),
            "launch.deadline is 1699999999, which was 1 s ago: the time of the job ended before training began");
  EXPECT_NE(refusal("7200").find("for a time from now write '7200s'"), std::string::npos) << refusal("7200");
}

TEST(TimeLeft, RefusesWhatIsNoTime) {
  for (const char* text : {"soon", "-2h", "0s", "2h later"})
    EXPECT_EQ(refusal(text),
              fmt::format("train.deadline is '{}': write a time from now (2h), or seconds since 1970 UTC", text));
}

TEST(TimeNeeded, CountsStepsCheckpointAndEvaluation) {
  EXPECT_EQ(time_needed({}), 1s);
  EXPECT_EQ(time_needed({.step = 2s}), 7s);
  EXPECT_EQ(time_needed({.step = 2s, .checkpoint = 10s}), 27s);
  EXPECT_EQ(time_needed({.step = 2s, .checkpoint = 10s, .evaluation = 60s}), 87s);
}

// A training whose steps and checkpoints take what they took before is through when the time comes.
TEST(TimeLimit, LeavesTheTimeForACheckpoint) {
  const nanoseconds step = 700ms, checkpoint = 5s;
  nanoseconds now = 100s;
  TimeLimit limit(now, 60s);
  while (!limit.over(now, {.checkpoint = checkpoint})) {
    now += step;
    limit.step_ended(now);
    ASSERT_LT(now, 160s);
  }
  now += step;  // the decision travels,
  now += checkpoint;
  EXPECT_LE(now, 160s);
  EXPECT_GE(now, 140s) << "too early is wasted time";
}

TEST(TimeLimit, StopsBeforeAnEvaluationThatWouldNotFit) {
  TimeLimit limit(0s, 60s);
  limit.step_ended(1s);
  EXPECT_FALSE(limit.over(20s, {.checkpoint = 2s}));
  EXPECT_TRUE(limit.over(20s, {.checkpoint = 2s, .evaluation = 40s}));
}

TEST(TimeLimit, WithoutOneItIsNeverOver) {
  EXPECT_FALSE(TimeLimit().over(1'000'000h, {.checkpoint = 100h}));
  EXPECT_EQ(TimeLimit().left(5s), std::nullopt);
}

TEST(TimeLimit, RemembersSlowStepsForAWhileAndEvaluationsNot) {
  TimeLimit limit(0s, 1000s);
  limit.step_ended(1s);
  limit.other_work_ended(31s);
  limit.step_ended(32s);
  EXPECT_EQ(limit.longest_step(), 1s);
  limit.step_ended(42s);
  nanoseconds now = 42s;
  for (int i = 0; i < 10; ++i) limit.step_ended(now += 1s);
  EXPECT_GT(limit.longest_step(), 7s);
  for (int i = 0; i < 200; ++i) limit.step_ended(now += 1s);
  EXPECT_EQ(limit.longest_step(), 1s);
}

}  // namespace
}  // namespace ronde::train
