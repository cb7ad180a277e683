#include "ronde/bench/check/check_judge.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "ronde/bench/check/check_words.h"

namespace ronde::bench::detail {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

// Two ranks a node, all alike.
CheckResults cluster(int nodes) {
  CheckResults results;
  for (int node = 0; node < nodes; ++node) {
    for (int rank = 0; rank < 2; ++rank)
      results.ranks.push_back({.machine = "m" + std::to_string(node), .host = "b" + std::to_string(node)});
    results.node_facts.push_back({.traits = {{"libtorch", "2.13.0"}, {"the kernel", "6.1", false}},
                                  .cores = 64,
                                  .memory_total = 512 * kGiB + static_cast<std::uint64_t>(node) * 1000,
                                  .memory_free = 500 * kGiB});
    results.clock_offset_s.push_back(0.001 * node);
  }
  results.nodes = find_nodes(results.ranks);
  results.start.assign(results.ranks.size(), {.load = 0.1, .meet = 0.2, .engine = 0.05});
  return results;
}

std::vector<std::string> texts(const CheckResults& results, bool wrong = true) {
  std::vector<std::string> texts;
  for (const Finding& finding : judge(results))
    if (finding.wrong == wrong) texts.push_back(finding.text);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(CheckJudge, AllAlikeIsWell) {
  for (const int nodes : {1, 2, 5}) {
    const auto results = cluster(nodes);
    EXPECT_TRUE(judge(results).empty());
  }
  EXPECT_EQ(verdict(cluster(2), {}), "check: all is well with 4 ranks on 2 nodes");
}

TEST(CheckJudge, TheOddNodeIsNamed) {
  auto results = cluster(4);
  results.node_facts[2].traits[0].value = "2.12.0";
  EXPECT_EQ(texts(results), Texts{"libtorch differs: 2.12.0 on b2, but 2.13.0 on the other 3 nodes"});
  EXPECT_EQ(verdict(results, judge(results)),
            "check: one thing is wrong with 8 ranks on 4 nodes: libtorch differs: 2.12.0 on b2, but 2.13.0 on the "
            "other 3 nodes");
}

TEST(CheckJudge, WithoutAMajorityAllAreNamed) {
  auto results = cluster(2);
  results.node_facts[1].traits[0].value = "";
  EXPECT_EQ(texts(results), Texts{"libtorch differs: none on b1, 2.13.0 on b0"});
}

TEST(CheckJudge, WhatOnlyALaterNodeHasCountsToo) {
  auto results = cluster(3);
  results.node_facts[2].traits.push_back({"libextra.so", "100 bytes"});
  EXPECT_EQ(texts(results), Texts{"libextra.so differs: 100 bytes on b2, but none on the other 2 nodes"});
}

TEST(CheckJudge, AProgramThatIsNowhere) {
  auto results = cluster(2);
  for (NodeFacts& facts : results.node_facts) facts.traits.push_back({"program x", "", true, true});
  EXPECT_EQ(texts(results), Texts{"program x is missing on all nodes"});
}

TEST(CheckJudge, SomeDifferencesAreOnlyNotes) {
  auto results = cluster(3);
  results.node_facts[0].traits[1].value = "5.10";
  EXPECT_TRUE(texts(results).empty());
  EXPECT_EQ(texts(results, false), Texts{"the kernel differs: 5.10 on b0, but 6.1 on the other 2 nodes"});
}

TEST(CheckJudge, WrongSumsAndFailuresComeFirst) {
  auto results = cluster(2);
  results.node_facts[1].traits[0].value = "1";
  results.wrong_ranks = {1, 2, 3};
  EXPECT_EQ(texts(results).front(), "an allreduce gave wrong values on ranks 1-3");
  results.failure = "rank 2 on b1 died";
  EXPECT_EQ(texts(results).front(), "the ranks cannot work together: rank 2 on b1 died");
  EXPECT_TRUE(
      verdict(results, judge(results)).starts_with("check: 3 things are wrong with 4 ranks on 2 nodes; first: "));
}

TEST(CheckJudge, MemoryThatIsUsedOrMissing) {
  auto results = cluster(3);
  results.node_facts[1].memory_free = 100 * kGiB;
  EXPECT_EQ(texts(results), Texts{"only 100 GiB of 512 GiB memory is free on b1: something else runs there"});
  results = cluster(3);
  results.node_facts[2].memory_total = 256 * kGiB;
  results.node_facts[2].memory_free = 250 * kGiB;
  EXPECT_EQ(texts(results), Texts{"b2 has 256 GiB of memory, but most nodes have 512 GiB"});
}

TEST(CheckJudge, ClocksThatAreOff) {
  auto results = cluster(3);
  results.clock_offset_s = {0.0, -90.0, 0.5};
  EXPECT_EQ(texts(results), Texts{"the clock of b1 is 1 min 30 s behind that of b0"});
}

GpuFacts gpu(const std::string& bus_id, std::uint64_t free = 138) {
  return {.name = "H200", .bus_id = bus_id, .total = 140 * kGiB, .free = free * kGiB};
}

TEST(CheckJudge, GpusThatAreSharedHiddenOrUsed) {
  auto results = cluster(2);
  for (std::size_t rank = 0; rank < 4; ++rank) results.ranks[rank].gpu = gpu(rank % 2 == 0 ? "1b" : "2b");
  EXPECT_TRUE(texts(results).empty());  // the same number on another node is another one
  results.ranks[1].gpu = gpu("1b");
  EXPECT_EQ(texts(results), Texts{"ranks 0-1 share GPU 1b on b0"});
  results.ranks[1].gpu = {};
  results.ranks[1].no_gpu = "no driver";
  EXPECT_EQ(texts(results), Texts{"rank 1 on b0 sees no GPU, but other ranks do: no driver"});
  results.ranks[1].gpu = gpu("2b", 20);
  EXPECT_EQ(texts(results), Texts{"GPU 2b on b0 has only 20 GiB of 140 GiB free: another process is on it"});
}

TEST(CheckJudge, ARankTakesTheGpuOfItsNumber) {
  const std::vector<GpuFacts> two{gpu("1b"), gpu("2b")};
  EXPECT_EQ(own_gpu(two, 1), two[1]);
  EXPECT_EQ(own_gpu(two, 2), two[0]);
  EXPECT_EQ(own_gpu(std::span(two).first(1), 5), two[0]);
  EXPECT_EQ(own_gpu({}, 0), std::nullopt);
}

TEST(CheckJudge, SlowLinksAreNamed) {
  auto results = cluster(3);
  results.links = {{{0, 1}, 30e-6, 1.2e9}, {{0, 2}, 31e-6, 1.2e7}, {{1, 2}, 32e-6, 1.1e7}};
  EXPECT_EQ(texts(results), Texts{"every link of b2 is slow: 11 MB/s, but the best reaches 1.2 GB/s"});
  results.links[2].bytes_per_s = 1.2e9;
  EXPECT_EQ(texts(results), Texts{"the link between b0 and b2 is slow: 12 MB/s, but the best reaches 1.2 GB/s"});
  results.links[1].bytes_per_s = 1.2e9;
  results.links[1].latency_s = 2e-3;
  EXPECT_EQ(texts(results), Texts{"the link between b0 and b2 has a high latency: 2 ms, but the best takes 30 us"});
}

TEST(CheckNodes, AreMachinesInTheOrderOfTheirFirstRanks) {
  const std::vector<RankFacts> ranks{{"b", "x"}, {"a", "y"}, {"b", "x"}, {"c", "x"}};
  const Nodes nodes = find_nodes(ranks);
  EXPECT_EQ(nodes.of_rank, (std::vector{0, 1, 0, 2}));
  EXPECT_EQ(nodes.ranks, (std::vector<std::vector<int>>{{0, 2}, {1}, {3}}));
  EXPECT_EQ(nodes.names, (Texts{"x", "y", "x(2)"}));
}

TEST(CheckTable, OneRowANode) {
  auto results = cluster(2);
  results.links = {{{0, 1}, 30e-6, 1.2e9}};
  const std::string table = check_table(results);
  EXPECT_EQ(std::ranges::count(table, '\n'), 3);
  for (const char* cell :
       {"b0", "0-1", "2-3", "64", "500 GiB of 512 GiB", "+1 ms", "30 us (b1)", "1.2 GB/s (b0)", "350 ms"})
    EXPECT_NE(table.find(cell), std::string::npos) << cell << " in\n" << table;
}

TEST(CheckTable, WithoutAnEngineTheFactsAreStillThere) {
  auto results = cluster(2);
  results.start.clear();
  results.clock_offset_s.clear();
  EXPECT_NE(check_table(results).find("b1"), std::string::npos);
  EXPECT_EQ(start_text(results), "");
}

TEST(CheckTable, TheSlowestStartIsTakenApart) {
  auto results = cluster(2);
  results.start[3] = {.launch = 1.0, .load = 5.0, .meet = 0.5, .engine = 0.25};
  EXPECT_EQ(start_text(results),
            "start-up took at most 6.8 s (rank 3 on b1): 1 s until its process began, 5 s loading libraries, 500 ms "
            "connecting to the other ranks, 250 ms starting the engine");
}

TEST(CheckWords, Lists) {
  const Nodes nodes{.names = {"a", "b", "c", "d", "e", "f"}};
  EXPECT_EQ(rank_list(std::vector{4}), "rank 4");
  EXPECT_EQ(rank_list(std::vector{0, 1, 2, 5, 7, 8}), "ranks 0-2, 5, 7-8");
  EXPECT_EQ(node_list(std::vector{1}, nodes), "b");
  EXPECT_EQ(node_list(std::vector{0, 1, 2, 3, 4, 5}, nodes), "a, b, c, d and 2 more");
}

}  // namespace
}  // namespace ronde::bench::detail
