#include <gtest/gtest.h>

#include "ronde/report/testing/made_training.h"

namespace ronde::report {
namespace {

using testing::made;
using testing::MadeEvidence;
using testing::MakeRun;
using testing::ms;

// Ten steps of 100 ms, then something on rank 0, for which rank 1 waits, or which it does too.
MadeEvidence then(const char* what, double length, bool on_both = false) {
  MakeRun make = made(2, 10, {.work = {90, 90}, .optimizer = 10});
  make.span(0, "training", what, ms(1000), ms(1000 + length));
  make.span(1, "training", on_both ? what : "wait for communication", ms(1000), ms(1000 + length));
  return MadeEvidence(make.take());
}

TEST(EvaluationRule, FindsOneRankThatTests) {
  const Advice advice = then("evaluate", 500).only();
  EXPECT_EQ(advice.rule, "evaluation");
  EXPECT_NEAR(advice.gain, 0.25 / 1.5, 1e-9) << "two ranks would take half of 500 ms";
  EXPECT_NE(advice.evidence.find("'evaluate' on rank 0 takes 500 ms of 1.5 s"), std::string::npos) << advice.evidence;
  ASSERT_TRUE(advice.at);
  EXPECT_FALSE(advice.at->step);
  EXPECT_NEAR(advice.at->begin, 1, 1e-9);
  EXPECT_NEAR(advice.at->end, 1.5, 1e-9);
}

TEST(EvaluationRule, SaysNothingBelowItsThresholdOrWhenAllTest) {
  EXPECT_TRUE(then("evaluate", 40).advice().empty()) << "20 of 1040 ms";
  EXPECT_TRUE(then("evaluate", 500, true).advice().empty());
}

TEST(CheckpointRule, SharesWritesInTheBackgroundOrSavesLessOften) {
  const Advice shared = then("checkpoint copy", 200).only();
  EXPECT_EQ(shared.rule, "checkpoint");
  EXPECT_EQ(shared.setting, "checkpoint.sharded=true");
  EXPECT_NEAR(shared.gain, 0.1 / 1.2, 1e-9);
  MadeEvidence waits = then("checkpoint wait", 200);
  waits.facts.settings["checkpoint.background"] = "false";
  EXPECT_EQ(waits.only().setting, "checkpoint.background=true");
  EXPECT_NEAR(waits.only().gain, 0.2 / 1.2, 1e-9);
  const Advice both = then("checkpoint copy", 200, true).only();
  EXPECT_EQ(both.setting, "checkpoint.every=auto");
  EXPECT_NEAR(both.gain, 0.2 / 1.2, 1e-9);
}

TEST(CheckpointRule, SaysNothingBelowItsThreshold) {
  EXPECT_TRUE(then("checkpoint copy", 20, true).advice().empty()) << "20 of 1020 ms";
}

TEST(SequentialRule, FindsOtherWorkOfOneRank) {
  const Advice advice = then("write pictures", 500).only();
  EXPECT_EQ(advice.rule, "sequential");
  EXPECT_NEAR(advice.gain, 0.25 / 1.5, 1e-9);
  EXPECT_TRUE(then("write pictures", 40).advice().empty());
}

}  // namespace
}  // namespace ronde::report
