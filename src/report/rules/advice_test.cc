#include "ronde/report/advice.h"

#include <gtest/gtest.h>

#include "ronde/report/json/json_parts.h"
#include "ronde/report/testing/made_training.h"

namespace ronde::report {
namespace {

using testing::add_steps;
using testing::made;
using testing::MadeEvidence;
using testing::MadeStep;
using testing::MakeRun;

TEST(Advice, AHealthyRunGetsNone) {
  MakeRun make(4);
  // Work differs by a percent or two, communication is hidden but for a hundredth.
  add_steps(make, 20, [](std::int64_t step) {
    const double more = static_cast<double>(step % 3);
    return MadeStep{.work = {90, 90.5, 89.5 + more, 90}, .move = 1, .optimizer = 8};
  });
  MadeEvidence healthy(make.take());
  healthy.facts.bound = {{0, "0"}, {1, "1"}, {2, "2"}, {3, "3"}};
  healthy.facts.clock_ghz = {{0, 3.0}, {1, 3.0}, {2, 2.95}, {3, 3.0}};
  healthy.facts.precision = "bf16";
  healthy.facts.batch = 64;
  EXPECT_TRUE(healthy.advice().empty()) << healthy.only().rule;
  const Verdict verdict = verdict_of(healthy.evidence(), {});
  EXPECT_EQ(verdict.state, Verdict::State::Good);
  EXPECT_NE(verdict.text.find("; nothing needs to be changed."), std::string::npos) << verdict.text;
}

TEST(Advice, TheVerdictNamesWhatCostsMost) {
  // 130 ms a step, of which the ranks use 100 and 130: 115 / 130 = 88 %; 30 of 130 can be won.
  MakeRun make = made(2, 10, {.work = {100, 130}});
  make.host(1, "node7");
  const MadeEvidence slow(make.take());
  const Verdict verdict = verdict_of(slow.evidence(), slow.advice());
  EXPECT_EQ(verdict.text,
            "Training reaches 88 % of what these 2 ranks could do; most is lost because rank 1 (node7) is 30 % slower "
            "than the others.");
  EXPECT_EQ(verdict.state, Verdict::State::Fair);
  EXPECT_EQ(name(verdict.state), "fair");
}

TEST(Advice, TheVerdictIsPoorWhereMostTimeIsLost) {
  const MadeEvidence waits(made(1, 10, {.work = {40}, .input = 60}));
  const Verdict verdict = verdict_of(waits.evidence(), waits.advice());
  EXPECT_EQ(verdict.text,
            "Training reaches 40 % of what this rank could do; most is lost because training waits for its input.");
  EXPECT_EQ(verdict.state, Verdict::State::Poor);
}

TEST(Advice, TheVerdictTellsOfArithmeticThatCouldBeFaster) {
  MadeEvidence slow(made(1, 10, {.work = {80}, .optimizer = 20}));
  slow.facts.precision = "f32";
  slow.rates = MachineRates{.name = "made", .f32 = 1, .bf16 = 4};
  const Verdict verdict = verdict_of(slow.evidence(), slow.advice());
  EXPECT_EQ(verdict.text,
            "Training reaches 100 % of what this rank could do; up to 60 % of the time could be saved, because it "
            "computes in f32 where bf16 is faster.");
}

TEST(Advice, ALossThatNoRuleExplainsIsToldByTheTree) {
  MadeEvidence made_up(made(2, 10, {.work = {90, 90}, .optimizer = 10}));
  made_up.efficiency.parallel.value = 0.7;
  made_up.efficiency.parallel.children[0].value = 0.7;  // load balance
  const Verdict verdict = verdict_of(made_up.evidence(), {});
  EXPECT_EQ(verdict.state, Verdict::State::Fair);
  EXPECT_NE(verdict.text.find("most is lost in load balance, and no rule found the cause."), std::string::npos)
      << verdict.text;
}

TEST(Advice, MostGainComesFirst) {
  // Of 150 ms a step 20 are waits for input and 30 those of rank 0 for rank 1.
  MadeEvidence both(made(2, 10, {.work = {100, 130}, .input = 20}));
  const std::vector<Advice> all = both.advice();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].rule, "slow_rank");
  EXPECT_NEAR(all[0].gain, 30.0 / 150, 1e-9);
  EXPECT_EQ(all[1].rule, "input");
  EXPECT_NEAR(all[1].gain, 20.0 / 150, 1e-9);
  const auto json = to_json(all);
  EXPECT_EQ(json[0]["rule"], "slow_rank");
  for (const char* key : {"title", "evidence", "change", "setting", "flag", "gain", "at"})
    EXPECT_TRUE(json[0].contains(key));
  EXPECT_EQ(json[0]["at"]["rank"], 1);
  EXPECT_EQ(json[0]["at"]["step"], 0);
  EXPECT_NEAR(json[0]["at"]["end"].get<double>(), 0.15, 1e-9);
  EXPECT_EQ(flag_of("data.threads=8"), "--data-threads 8");
  EXPECT_EQ(flag_of("no.such=8"), "");
  EXPECT_EQ(flag_of(""), "");
}

}  // namespace
}  // namespace ronde::report
