#include "ronde/launch/run/restart.h"

#include <gtest/gtest.h>

namespace ronde::launch {
namespace {

using namespace std::chrono_literals;

const std::vector<HostSlots> kOne{{"b2", 4}};
const std::vector<HostSlots> kThree{{"n1", 2}, {"n2", 2}, {"n3", 2}};

std::vector<std::string> names(const RestartDecision& decision) {
  std::vector<std::string> found;
  for (const HostSlots& host : decision.hosts) found.push_back(host.host);
  return found;
}
using Names = std::vector<std::string>;

TEST(Restart, AFailureStartsAgainAfterAGrowingDelayUntilItIsEnough) {
  const RestartRules rules{.most = 8};
  const std::vector<std::chrono::nanoseconds> delays{1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s};
  for (int attempt = 1; attempt <= 8; ++attempt) {
    const auto decision = decide_restart(rules, attempt, {.exit_code = 7}, 4, kOne);
    EXPECT_TRUE(decision.again);
    EXPECT_EQ(decision.ranks, 4);
    EXPECT_EQ(decision.delay, delays[static_cast<std::size_t>(attempt - 1)]);
  }
  EXPECT_EQ(decide_restart(rules, 2, {.exit_code = 7}, 4, kOne).sentence,
            "starting again in 2 s, restart 2 of 8 (exit code 7)");
  const auto last = decide_restart(rules, 9, {.exit_code = 7}, 4, kOne);
  EXPECT_FALSE(last.again);
  EXPECT_EQ(last.sentence, "not started again: the job failed after 8 restarts");
}

TEST(Restart, ManyRestartsDoNotOverflowTheDelay) {
  EXPECT_EQ(decide_restart({.most = 1000}, 999, {.exit_code = 1}, 4, kOne).delay, 60s);
}

TEST(Restart, NotWhatWentWellOrWouldNotHelp) {
  const RestartRules rules{.most = 3};
  for (const JobEnd& end : {JobEnd{}, JobEnd{.exit_code = 75}, JobEnd{.exit_code = 130, .interrupted = true}}) {
    const auto decision = decide_restart(rules, 1, end, 4, kOne);
    EXPECT_FALSE(decision.again) << end.exit_code;
    EXPECT_EQ(decision.sentence, "") << end.exit_code;
  }
  const auto wrong = decide_restart(rules, 1, {.exit_code = 2}, 4, kOne);
  EXPECT_FALSE(wrong.again);
  EXPECT_EQ(wrong.sentence, "not started again: exit code 2 means wrong input, and a restart would fail the same way");
  EXPECT_EQ(decide_restart({}, 1, {.exit_code = 7}, 4, kOne).sentence, "") << "nobody asked for restarts";
}

TEST(Restart, TheMachineThatFailedIsLeftOutWhereTheOthersSuffice) {
  const JobEnd end{.exit_code = 1, .failed_host = "n2"};
  const auto fewer = decide_restart({.most = 1, .min_ranks = 4}, 1, end, 6, kThree);
  EXPECT_EQ(names(fewer), (Names{"n1", "n3"}));
  EXPECT_EQ(fewer.ranks, 4);
  EXPECT_EQ(fewer.sentence, "starting again in 1 s, restart 1 of 1, without n2: 4 ranks (exit code 1)");

  const auto spare = decide_restart({.most = 1}, 1, end, 4, kThree);
  EXPECT_EQ(names(spare), (Names{"n1", "n3"})) << "a spare machine takes its place";
  EXPECT_EQ(spare.ranks, 4);

  const auto all = decide_restart({.most = 1}, 1, end, 6, kThree);
  EXPECT_EQ(names(all), (Names{"n1", "n2", "n3"})) << "all 6 ranks are wanted, so it is tried again";
  EXPECT_EQ(all.ranks, 6);
}

TEST(Restart, ALostMachineIsLeftOutAndTheOneWhoseRankFailedFirstStays) {
  const JobEnd end{.exit_code = 1, .failed_host = "n1", .lost_hosts = {"n2"}};
  const auto one = decide_restart({.most = 1, .min_ranks = 2}, 1, end, 6, kThree);
  EXPECT_EQ(names(one), (Names{"n1", "n3"}));
  EXPECT_EQ(one.sentence, "starting again in 1 s, restart 1 of 1, without n2 (no answer): 4 ranks (exit code 1)");

  const JobEnd both{.exit_code = 1, .failed_host = "n1", .lost_hosts = {"n2", "n3"}};
  const auto two = decide_restart({.most = 1, .min_ranks = 2}, 1, both, 6, kThree);
  EXPECT_EQ(names(two), Names{"n1"});
  EXPECT_EQ(two.sentence, "starting again in 1 s, restart 1 of 1, without n2, n3 (no answer): 2 ranks (exit code 1)");

  const JobEnd silent{.exit_code = 1, .lost_hosts = {"n3"}};
  EXPECT_EQ(names(decide_restart({.most = 1, .min_ranks = 2}, 1, silent, 6, kThree)), (Names{"n1", "n2"}))
      << "the launcher failed and no rank did";
}

TEST(Restart, ALostMachineIsNotTriedAgain) {
  const JobEnd end{.exit_code = 1, .failed_host = "n1", .lost_hosts = {"n2"}};
  const auto decision = decide_restart({.most = 1, .min_ranks = 5}, 1, end, 6, kThree);
  EXPECT_FALSE(decision.again);
  EXPECT_EQ(decision.sentence,
            "not started again: no answer from n2, and the other hosts have room for 4 ranks, fewer than 5");
}

TEST(Restart, AMachineIsSilentWhenNoneOfItsRanksHasReportedAndOthersHave) {
  const std::vector<HostShare> hosts{{"n1", 2}, {"n2", 1}, {"n3", 3}};
  EXPECT_EQ(silent_hosts(hosts, {0, 1, 2, 3, 4, 5}), Names{});
  EXPECT_EQ(silent_hosts(hosts, {1, 2, 5}), Names{}) << "a rank per machine is enough";
  EXPECT_EQ(silent_hosts(hosts, {0, 1, 3}), Names{"n2"});
  EXPECT_EQ(silent_hosts(hosts, {2}), (Names{"n1", "n3"}));
  EXPECT_EQ(silent_hosts(hosts, {}), Names{}) << "the launcher itself failed: nothing is known of any machine";
  EXPECT_EQ(silent_hosts({{"n1", 2}}, {}), Names{});
}

TEST(Restart, TheOnlyMachineIsTriedAgain) {
  const auto decision = decide_restart({.most = 1, .min_ranks = 1}, 1, {.exit_code = 1, .failed_host = "b2"}, 4, kOne);
  EXPECT_TRUE(decision.again);
  EXPECT_EQ(names(decision), Names{"b2"});
}

}  // namespace
}  // namespace ronde::launch
