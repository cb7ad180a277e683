#include <gtest/gtest.h>

#include "ronde/report/testing/made_training.h"

namespace ronde::report {
namespace {

using testing::add_steps;
using testing::made;
using testing::MadeEvidence;
using testing::MadeStep;
using testing::MakeRun;
using testing::ms;

MadeEvidence slow_rank() {
  MakeRun make = made(2, 10, {.work = {100, 130}});
  make.host(1, "node7");
  return MadeEvidence(make.take());
}

TEST(SlowRankRule, NamesTheRankAndWhatTheOthersWouldDo) {
  const Advice advice = slow_rank().only();
  EXPECT_EQ(advice.rule, "slow_rank");
  EXPECT_NEAR(advice.gain, 30.0 / 130, 1e-9);
  EXPECT_NE(advice.evidence.find("rank 1 (node7) takes 30 % longer"), std::string::npos) << advice.evidence;
  EXPECT_NE(advice.change.find("node7"), std::string::npos);
  ASSERT_TRUE(advice.at);
  EXPECT_EQ(advice.at->rank, 1);
}

TEST(SlowRankRule, SaysNothingBelowItsThreshold) {
  // 1.9 % more work: no slow rank, and 0.95 / 101.9 of the run is lost.
  EXPECT_TRUE(MadeEvidence(made(2, 10, {.work = {100, 101.9}})).advice().empty());
  // 4.2 % more: 4.2 / 104.2 can be won.
  EXPECT_NEAR(MadeEvidence(made(2, 10, {.work = {100, 104.2}})).only().gain, 4.2 / 104.2, 1e-9);
}

TEST(SlowNodeRule, NamesANodeAllOfWhoseRanksAreSlow) {
  MakeRun make(4);
  // Now one rank of it is slowest, now the other: 1190 ms of work each, against 1000.
  add_steps(make, 10, [](std::int64_t step) {
    return step % 2 ? MadeStep{.work = {100, 100, 120, 118}} : MadeStep{.work = {100, 100, 118, 120}};
  });
  make.host(2, "node1");
  make.host(3, "node1");
  const Advice advice = MadeEvidence(make.take()).only();
  EXPECT_EQ(advice.rule, "slow_node");
  EXPECT_NEAR(advice.gain, 20.0 / 120, 1e-9);
  EXPECT_NE(advice.because.find("node1 is 19 % slower"), std::string::npos) << advice.because;
}

TEST(ClockRule, ExplainsASlowRank) {
  MadeEvidence all = slow_rank();
  all.facts.clock_ghz = {{0, 3.0}, {1, 2.3}};
  const Advice advice = all.only();
  EXPECT_EQ(advice.rule, "clock");
  EXPECT_NEAR(advice.gain, 30.0 / 130, 1e-9);
  EXPECT_NE(advice.evidence.find("2.30 GHz, but that of the others is 3.00 GHz"), std::string::npos) << advice.evidence;
  all.facts.clock_ghz = {{0, 3.0}, {1, 2.9}};  // 3 % below
  EXPECT_EQ(all.only().rule, "slow_rank");
}

TEST(ClockRule, TellsOfHeat) {
  MakeRun make = made(2, 10, {.work = {100, 130}});
  for (int i = 0; i < 8; ++i) {
    make.counter(0, "core clock", ms(100 * i), 3);
    make.counter(1, "core clock", ms(100 * i), i < 2 ? 3 : 2);  // mean 2.25; first quarter 3, last 2
  }
  const Advice advice = MadeEvidence(make.take()).only();
  EXPECT_EQ(advice.rule, "clock");
  EXPECT_NE(advice.evidence.find("falls from 3.00 to 2.00 GHz"), std::string::npos) << advice.evidence;
}

TEST(UnevenBatchRule, ExplainsARankWithOneSampleMore) {
  MadeEvidence all(made(2, 10, {.work = {50, 100}}));
  all.facts.batch = 3;
  const Advice advice = all.only();
  EXPECT_EQ(advice.rule, "uneven_batch");
  EXPECT_EQ(advice.setting, "train.batch=4");
  EXPECT_NEAR(advice.gain, 0.5, 1e-9);
  all.facts.batch = 65;  // one of 32 more explains 3 %, not 100
  EXPECT_EQ(all.only().rule, "slow_rank");
  all.facts.batch = 64;
  EXPECT_EQ(all.only().rule, "slow_rank");
}

MadeEvidence wandering(double more) {
  MakeRun make(2);
  add_steps(make, 10, [&](std::int64_t step) {
    return step % 2 ? MadeStep{.work = {100, 100 + more}} : MadeStep{.work = {100 + more, 100}};
  });
  return MadeEvidence(make.take());
}

TEST(ImbalanceRule, TellsWorkThatWanders) {
  MadeEvidence all = wandering(30);
  all.facts.batch = 64;
  const Advice advice = all.only();
  EXPECT_EQ(advice.rule, "imbalance");
  EXPECT_NEAR(advice.gain, 15.0 / 130, 1e-9) << "130 in each step where 115 would do";
  EXPECT_EQ(advice.setting, "train.batch=128");
  all.facts.memory_bytes = 6e9;
  all.facts.memory_limit_bytes = 10e9;
  EXPECT_EQ(all.only().setting, "") << "there is no memory for twice the batch";
  EXPECT_TRUE(wandering(10.5).advice().empty()) << "5.25 of 110.5 are below 5 %";
}

// Rank 1 takes longer in every other step: its lower quartile is 100.
MadeEvidence noisy(double more) {
  MakeRun make(2);
  add_steps(make, 12, [&](std::int64_t step) { return MadeStep{.work = {100, step % 2 ? 100 + more : 100}}; });
  MadeEvidence all(make.take());
  all.facts.bound = {{0, ""}, {1, ""}};
  return all;
}

TEST(BindingRule, TakesNoiseForRanksThatAreNotBound) {
  MadeEvidence all = noisy(40);
  const Advice advice = all.only();
  EXPECT_EQ(advice.rule, "not_bound") << "and the imbalance only follows from it";
  EXPECT_NEAR(advice.gain, 6 * 40.0 / (6 * 100 + 6 * 140), 1e-9);
  EXPECT_NE(advice.evidence.find("2 ranks"), std::string::npos) << advice.evidence;
  all.facts.bound = {{0, "0"}, {1, "1"}};
  EXPECT_EQ(all.only().rule, "imbalance");
  all.facts.bound = {};  // not known
  EXPECT_EQ(all.only().rule, "imbalance");
}

TEST(BindingRule, TakesRanksWithTheSameCpusForUnbound) {
  MadeEvidence all = noisy(40);
  all.facts.bound = {{0, "4-6,8"}, {1, "4-6,8"}};  // what a batch job may use
  EXPECT_EQ(all.only().rule, "not_bound");
  all.facts.bound = {{0, "4"}, {1, "4"}};  // more ranks than cores: binding does not help
  EXPECT_EQ(all.only().rule, "imbalance");
  all.facts.bound = {{0, "?"}, {1, "?"}};
  EXPECT_EQ(all.only().rule, "imbalance");
}

TEST(BindingRule, SaysNothingBelowItsThreshold) {
  EXPECT_TRUE(noisy(10).advice().empty()) << "60 of 1260 are below 5 %";
}

TEST(BindingRule, LeavesRanksAloneOnTheirNodesUnbound) {
  MakeRun make(2);
  add_steps(make, 12, [&](std::int64_t step) { return MadeStep{.work = {100, step % 2 ? 140.0 : 100.0}}; });
  make.host(1, "node1");
  MadeEvidence all(make.take());
  all.facts.bound = {{0, ""}, {1, ""}};
  EXPECT_EQ(all.only().rule, "imbalance");
}

}  // namespace
}  // namespace ronde::report
