#include "ronde/bench/check/check_links.h"

#include <set>

#include <gtest/gtest.h>

namespace ronde::bench::detail {
namespace {

TEST(RoundsOfPairs, EveryPairHasOneTurnAndNobodyTwoAtOnce) {
  for (int nodes = 1; nodes <= 17; ++nodes) {
    std::set<Pair> met;
    for (const auto& round : rounds_of_pairs(nodes, 100)) {
      std::set<int> busy;
      for (const Pair& pair : round) {
        EXPECT_LT(pair.first, pair.second);
        EXPECT_TRUE(busy.insert(pair.first).second && busy.insert(pair.second).second);
        EXPECT_TRUE(met.insert(pair).second);
      }
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(nodes * (nodes - 1) / 2)) << nodes;
  }
}

TEST(RoundsOfPairs, VeryManyNodesMeetOnlySomeOthers) {
  const auto rounds = rounds_of_pairs(100, 8);
  EXPECT_EQ(rounds.size(), 8u);
  for (const auto& round : rounds) EXPECT_EQ(round.size(), 50u);
}

std::vector<LinkFigures> links_of(int nodes) {
  std::vector<LinkFigures> links;
  for (const auto& round : rounds_of_pairs(nodes, 100))
    for (const Pair& pair : round) links.push_back({.pair = pair, .latency_s = 20e-6, .bytes_per_s = 1e9});
  return links;
}

TEST(SlowLinks, NoneAmongEquals) {
  EXPECT_TRUE(slow_links({}, 1).empty());
  EXPECT_TRUE(slow_links(links_of(2), 2).empty());
  auto links = links_of(5);
  links[3].bytes_per_s = 0.6e9;  // within what differs from day to day
  links[4].latency_s = 90e-6;
  EXPECT_TRUE(slow_links(links, 5).empty());
}

TEST(SlowLinks, ANodeWhoseLinksAreAllSlowIsNamed) {
  for (const int nodes : {3, 4, 7}) {
    auto links = links_of(nodes);
    for (LinkFigures& link : links)
      if (link.pair.second == nodes - 1) link.bytes_per_s = 1e8 + link.pair.first;
    const auto slow = slow_links(links, nodes);
    ASSERT_EQ(slow.size(), 1u);
    EXPECT_EQ(slow[0].node, nodes - 1);
    EXPECT_EQ(slow[0].pairs.size(), static_cast<std::size_t>(nodes - 1));
    EXPECT_EQ(slow[0].kind, Slowness::Kind::Narrow);
    EXPECT_EQ(slow[0].worst, 1e8);
    EXPECT_EQ(slow[0].best, 1e9);
  }
}

TEST(SlowLinks, AnotherSlowLinkIsNamedByItself) {
  auto links = links_of(4);
  for (LinkFigures& link : links)
    if (link.pair == Pair(1, 2)) link.latency_s = 1e-3;
  const auto slow = slow_links(links, 4);
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].node, -1);
  EXPECT_EQ(slow[0].pairs, (std::vector<Pair>{{1, 2}}));
  EXPECT_EQ(slow[0].kind, Slowness::Kind::Late);
  EXPECT_EQ(slow[0].worst, 1e-3);
}

TEST(SlowLinks, OneThatIsLateDoesNotHideANarrowNode) {
  auto links = links_of(3);
  for (LinkFigures& link : links) {
    if (link.pair.second == 2) link.bytes_per_s = 1e8;
    if (link.pair == Pair(0, 1)) link.latency_s = 1.0;
  }
  const auto slow = slow_links(links, 3);
  ASSERT_EQ(slow.size(), 1u);  // with nothing to compare it with, nobody can say that the last one is late
  EXPECT_EQ(slow[0].node, 2);
}

}  // namespace
}  // namespace ronde::bench::detail
