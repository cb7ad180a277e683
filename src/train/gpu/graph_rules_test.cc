#include "ronde/train/gpu/graph_rules.h"

#include <array>

#include <gtest/gtest.h>

namespace ronde::train {
namespace {

GraphFacts possible() {
  GraphFacts facts;
  facts.on_gpu = true;
  return facts;
}

void expect_reason(const GraphFacts& facts, const std::string& words) {
  EXPECT_NE(why_no_graph(facts).find(words), std::string::npos) << why_no_graph(facts);
}

TEST(GraphRules, OneRankOnAGpuCan) {
  EXPECT_EQ(why_no_graph(possible()), "");
}

TEST(GraphRules, EveryReasonIsSaid) {
  GraphFacts facts = possible();
  facts.recompute = true;
  expect_reason(facts, "model.recompute");
  facts.traced_modules = true;
  expect_reason(facts, "trace.modules");
  facts.f16_on_host = true;
  expect_reason(facts, "f16");
  facts.fused = false;
  facts.optimizer = "lamb";
  expect_reason(facts, "optimizer.name = lamb");
  facts.why_no_graphs = "this build's libtorch has no CUDA";
  expect_reason(facts, "libtorch");
  facts.on_gpu = false;
  expect_reason(facts, "CPU");
  facts.setting = "off";
  expect_reason(facts, "train.graph is off");
}

TEST(GraphRules, SeveralRanksCanWhereGradientsStayAtHome) {
  GraphFacts facts = possible();
  facts.ranks = 4;
  facts.why_not_nccl = "ranks 0 and 1 on b2 share GPU 0";
  expect_reason(facts, "only NCCL's exchange of gradients can be recorded: ranks 0 and 1 on b2 share GPU 0");
  facts.local = true;
  EXPECT_EQ(why_no_graph(facts), "");
}

TEST(GraphRules, SeveralRanksCanByNcclAlone) {
  GraphFacts facts = possible();
  facts.ranks = 4;
  EXPECT_EQ(why_no_graph(facts), "");
  facts.compression = "bf16";
  expect_reason(facts, "train.compression = bf16");
  facts.compression = "none";
  facts.reduce = "adasum";
  expect_reason(facts, "train.reduce = adasum");
  facts.synced_norms = true;
  expect_reason(facts, "model.norm = sync");
  facts.ranks = 1;
  EXPECT_EQ(why_no_graph(facts), "");
}

// What becomes of steps 1, 2 ... of which every `every`th measures: . run, e warmed up, c recorded, l launched; large
// letters for those that measure, in brackets for the recording of one.
std::string story(int steps, int every) {
  std::array<KindState, kStepKinds> kinds;
  std::string told;
  for (int step = 1; step <= steps; ++step) {
    const std::size_t kind = every > 0 && step % every == 0 ? 1 : 0;
    const StepAction action = next_action(kinds[kind], kinds[1 - kind].recorded, step > 1);
    if (action == StepAction::Run || action == StepAction::WarmUp) ++kinds[kind].runs;
    if (action == StepAction::Record) kinds[kind].recorded = true;
    const char* letters = kind == 0 ? ".ecl" : ",ECL";
    told += letters[static_cast<int>(action)];
  }
  return told;
}

TEST(GraphRules, StepsAreRecordedAfterThreeThatAreAlike) {
  EXPECT_EQ(story(8, 0), "..ecllll");
}

TEST(GraphRules, StepsThatMeasureAreRecordedToo) {
  EXPECT_EQ(story(44, 10),
            "..eclllll"
            "E"
            "lllllllll"
            "C"
            "lllllllll"
            "L"
            "lllllllll"
            "L"
            "llll");
}

TEST(GraphRules, WhereEveryStepMeasuresThereIsOneKind) {
  EXPECT_EQ(story(8, 1), ",,ECLLLL");
}

TEST(GraphRules, KindsThatComeByTurnsDoNotHinderEachOther) {
  EXPECT_EQ(story(12, 2), ".,.,eEcClLlL");
}

TEST(GraphRules, ABatchOfAnotherShapeRunsAsItIs) {
  EXPECT_EQ(next_action({.runs = 3, .recorded = true}, false, false), StepAction::Run);
  EXPECT_EQ(next_action({.runs = 1}, true, false), StepAction::Run);
  EXPECT_EQ(next_action({.runs = 2}, false, false), StepAction::Run) << "counting begins anew";
}

TEST(GraphRules, WhatCannotBeRecordedIsNotTriedAgain) {
  EXPECT_EQ(next_action({.runs = 5, .refused = true}, true, true), StepAction::Run);
}

}  // namespace
}  // namespace ronde::train
