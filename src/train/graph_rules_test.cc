#include "ronde/train/graph_rules.h"

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
  expect_reason(facts, "only where NCCL does it: ranks 0 and 1 on b2 share GPU 0");
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

}  // namespace
}  // namespace ronde::train
