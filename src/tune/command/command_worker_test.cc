#include "ronde/tune/command/command_worker.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "ronde/base/testing/folder.h"

namespace ronde::tune {
namespace {

std::string content(const std::filesystem::path& file) {
  return (std::ostringstream() << std::ifstream(file).rdbuf()).str();
}

class CommandWorkerDeathTest : public ::testing::Test {  // forks
 protected:
  // Runs trials of a shell script that gets {x} as $1.
  RunEnd run(const std::string& script, SearchOptions wanted = {}, RunOptions options = {}) {
    wanted.metric = "score";
    wanted.can_save = false;
    if (wanted.space.empty()) wanted.space = {{"x", {{"grid_search", {1, 2, 3}}}}};
    command_ = {.program = "/bin/sh",
                .words = {"sh", "-c", script, "name", "{x}", "{trial_dir}"},
                .environment = {{"PATH", "/usr/bin:/bin"}},
                .metric = wanted.metric,
                .grace = std::chrono::milliseconds(grace_ms_)};
    options.folder = folder_.path();
    options.slots = wanted.slots;
    options.start_worker = [this](int) { return start_command_worker(command_); };
    search_.emplace(folder_.path() / "journal.jsonl", wanted);
    return run_search(*search_, options);
  }
  const Trial& trial(std::size_t i) const { return search_->search().trials()[i]; }
  std::string log(int number, const char* name) const {
    return content(folder_.path() / fmt::format("trial_{:05d}", number) / name);
  }

  tests::Folder folder_;
  CommandOptions command_;
  std::optional<RecordedSearch> search_;
  int grace_ms_ = 5000;
};

TEST_F(CommandWorkerDeathTest, LinesOfJsonAreReports) {
  ASSERT_EQ(
      run(R"(echo start; echo "{\"score\": $1}"; echo "{\"score\": NaN}"; printf "{\"score\": $1$1, \"s\": \"$TUNE_TRIAL_ID\"}")"),
      RunEnd::Finished);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(trial(i).state, TrialState::Terminated) << trial(i).error;
    EXPECT_EQ(trial(i).reports, 3);
    EXPECT_EQ(trial(i).last_result["score"], 11 * (i + 1));
    EXPECT_EQ(trial(i).last_result["s"], fmt::format("{:05d}", i));
  }
  EXPECT_EQ(search_->search().best(), 2);
  EXPECT_TRUE(log(0, "stdout").starts_with("start\n{\"score\": 1}\n"));
}

TEST_F(CommandWorkerDeathTest, TheConfigurationIsAVariableToo) {
  ASSERT_EQ(run(R"(echo "{\"score\": 1, \"config\": $TUNE_CONFIG}"; pwd > "$2/where"; test "$2" = "$TUNE_TRIAL_DIR")"),
            RunEnd::Finished);
  EXPECT_EQ(trial(1).last_result["config"], (Json{{"x", 2}}));
  EXPECT_EQ(trial(1).state, TrialState::Terminated) << trial(1).error;
  EXPECT_NE(log(0, "where"), "") << "the folder is there";
}

TEST_F(CommandWorkerDeathTest, ATrialThatIsToEndGetsSigterm) {
  SearchOptions wanted;
  wanted.stop = {{"training_iteration", 2}};
  // The shell's own child holds the pipe; it must not outlive the trial.
  ASSERT_EQ(run(R"(trap 'echo ended; exit 3' TERM; while :; do echo '{"score": 1}'; sleep 0.02; done)", wanted),
            RunEnd::Finished);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(trial(i).state, TrialState::Terminated) << trial(i).error;
    EXPECT_EQ(trial(i).reports, 2);
    EXPECT_NE(log(static_cast<int>(i), "stdout").find("ended"), std::string::npos);
  }
}

TEST_F(CommandWorkerDeathTest, OneThatDoesNotListenIsKilled) {
  grace_ms_ = 100;
  SearchOptions wanted;
  wanted.stop = {{"training_iteration", 1}};
  ASSERT_EQ(run(R"(trap '' TERM; echo '{"score": 1}'; sleep 600)", wanted), RunEnd::Finished);
  EXPECT_EQ(trial(2).state, TrialState::Terminated);
}

TEST_F(CommandWorkerDeathTest, WhatItLeavesBehindIsEnded) {
  ASSERT_EQ(run(R"(setsid sleep 600 & echo $! > "$2/pid"; echo '{"score": 1}')"), RunEnd::Finished);
  EXPECT_EQ(trial(0).state, TrialState::Terminated) << "nor does it hold the trial";
  EXPECT_NE(::kill(std::stoi(log(0, "pid")), 0), 0);
}

TEST_F(CommandWorkerDeathTest, FailuresNameTheirCause) {
  ASSERT_EQ(run(R"(case $1 in 1) echo "no such file" >&2; exit 7;; 2) echo '{"loss": 1}';; 3) kill -9 $$;; esac)"),
            RunEnd::Finished);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(trial(i).state, TrialState::Error);
  EXPECT_TRUE(trial(0).error.starts_with("exit code 7: no such file (")) << trial(0).error;
  EXPECT_NE(trial(1).error.find("the metric 'score'"), std::string::npos) << trial(1).error;
  EXPECT_TRUE(trial(2).error.starts_with("signal 9 (killed)")) << trial(2).error;
}

TEST_F(CommandWorkerDeathTest, AtTheEndOfTheTimeATrialMayTidyUp) {
  RunOptions options;
  options.time_budget = std::chrono::milliseconds(300);
  options.grace = std::chrono::seconds(5);
  ASSERT_EQ(
      run(R"(trap 'echo tidy > "$2/tidy"; exit' TERM; echo '{"score": 1}'; while :; do sleep 0.02; done)", {}, options),
      RunEnd::TimeIsOver);
  EXPECT_EQ(trial(0).state, TrialState::Terminated);
  EXPECT_EQ(log(0, "tidy"), "tidy\n");
}

TEST(FailureText, HasTheLastWords) {
  EXPECT_EQ(failure_text("exit code 1", "Traceback:\n  x\nKeyError: 'lr'\n\n"), "exit code 1: KeyError: 'lr'");
  EXPECT_EQ(failure_text("exit code 1", "\n"), "exit code 1");
}

}  // namespace
}  // namespace ronde::tune
