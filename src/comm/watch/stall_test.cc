#include "ronde/comm/watch/stall.h"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ronde::comm::detail {
namespace {

using Texts = std::vector<std::string>;

TEST(Stalls, TitlesOfAllMembersCountOnce) {
  const Texts told = {write_titles(Texts{"'a'", "'b'"}), write_titles(Texts{}), write_titles(Texts{"'b'", "'c'"})};
  EXPECT_EQ(join_titles(told), (Texts{"'a'", "'b'", "'c'"}));
  EXPECT_TRUE(join_titles(Texts{"", ""}).empty());
}

TEST(Stalls, AnswersArriveAsTheyWereSent) {
  for (const bool give_up : {false, true}) {
    const StallAnswer answer{.has = {true, false, true}, .give_up = give_up, .doing = "step 17\nand two lines"};
    const StallAnswer read = read_answer(write_answer(answer));
    EXPECT_EQ(read.has, answer.has);
    EXPECT_EQ(read.give_up, give_up);
    EXPECT_EQ(read.doing, answer.doing);
  }
  EXPECT_TRUE(read_answer("").has.empty()) << "a member that says nothing has nothing";
}

TEST(Stalls, AreWhatSomeHaveAndOthersLack) {
  const Texts titles = {"'all'", "'some'", "'none'", "'one'"};
  const std::vector<StallAnswer> answers = {
      {.has = {true, true, false, false}}, {.has = {true, false, false, false}}, {.has = {true, true, false, true}}};
  const std::vector<Stall> stalls = find_stalls(titles, answers);
  ASSERT_EQ(stalls.size(), 2u) << "what all have is on its way, and what none has is done";
  EXPECT_EQ(stalls[0].title, "'some'");
  EXPECT_EQ(stalls[0].missing, (std::vector<int>{1}));
  EXPECT_EQ(stalls[0].waiting, (std::vector<int>{0, 2}));
  EXPECT_EQ(stalls[1].title, "'one'");
  EXPECT_EQ(stalls[1].missing, (std::vector<int>{0, 1}));
}

TEST(Stalls, AShortAnswerLacksTheRest) {
  const std::vector<StallAnswer> answers = {{.has = {true, true}}, {.has = {true}}};
  const std::vector<Stall> stalls = find_stalls(Texts{"'a'", "'b'"}, answers);
  ASSERT_EQ(stalls.size(), 1u);
  EXPECT_EQ(stalls[0].title, "'b'");
}

TEST(Stalls, SayWhatWaitsHowLongAndForWhom) {
  const Stall stall{.title = "'w'", .missing = {1, 3}, .waiting = {0, 2}};
  const Texts doing = {"rank 1 on b2 (pid 77): step 17", "rank 3 on b2 (pid 79): no request so far"};
  EXPECT_EQ(describe_stall(stall, "31 s", doing),
            "'w' has waited 31 s for rank 1 on b2 (pid 77): step 17, rank 3 on b2 (pid 79): no request so far");
}

TEST(StoppedProcesses, AreSeen) {
  EXPECT_FALSE(process_is_stopped(getpid()));
  EXPECT_FALSE(process_is_stopped(-1)) << "there is none";
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  EXPECT_TRUE(process_is_stopped(child));
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
}

TEST(Stall, AsksInTimeAndSeldom) {
  using namespace std::chrono_literals;
  const auto at = [](StallTimes due, std::chrono::nanoseconds asked, std::chrono::nanoseconds pause = 0s) {
    return next_question(due, asked, pause);
  };
  EXPECT_EQ(at({}, 0s), std::nullopt);
  EXPECT_EQ(at({.warn = 8s}, 0s, 9s), 8s);
  EXPECT_EQ(at({.warn = 8s}, 8s, 9s), 17s);  // who does not answer is asked again,
  EXPECT_EQ(at({.warn = 8s}, 8s, 1s), 10s);  // but not all the time
  EXPECT_EQ(at({.warn = 8s, .abort = 4s}, 0s), 4s);
  EXPECT_EQ(at({.abort = 40s}, 9s), 40s);  // it has been reported, and is to be given up
}

}  // namespace
}  // namespace ronde::comm::detail
