#include "ronde/comm/link/nodes/routes.h"

#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace ronde::comm::detail {
namespace {

TEST(FirstPartners, ReachEveryNodeAndNobodyHasMany) {
  std::vector<int> node_of;
  for (int rank = 0; rank < 130; ++rank) node_of.push_back(rank / 2);
  const Layout layout = Layout::of(node_of);
  const Partners partners = first_partners(layout, 5);
  EXPECT_EQ(partners.call, (std::vector<int>{7, 9, 13, 21, 37, 69, 3}));
  EXPECT_EQ(partners.called_by.size(), partners.call.size());
  for (const int caller : partners.called_by) {
    const auto calls = first_partners(layout, caller).call;
    EXPECT_NE(std::ranges::find(calls, 5), calls.end());
  }
  EXPECT_TRUE(first_partners(Layout::of(std::vector{0, 0, 1}), 1).call.empty())
      << "nobody else stands in the second place";
}

// In how many hops gossip from one node reaches all others that live; -1: it does not.
int hops_of_gossip(int nodes, int from, const std::set<int>& dead) {
  std::vector<int> hops(static_cast<std::size_t>(nodes), -1), next{from};
  hops[static_cast<std::size_t>(from)] = 0;
  for (std::size_t i = 0; i < next.size(); ++i)
    for (const int distance : gossip_distances(nodes)) {
      const int there = (next[i] + distance) % nodes;
      int& told = hops[static_cast<std::size_t>(there)];
      if (told >= 0 || dead.contains(there)) continue;
      told = hops[static_cast<std::size_t>(next[i])] + 1;
      next.push_back(there);
    }
  int most = 0;
  for (int node = 0; node < nodes; ++node) {
    if (dead.contains(node)) continue;
    if (hops[static_cast<std::size_t>(node)] < 0) return -1;
    most = std::max(most, hops[static_cast<std::size_t>(node)]);
  }
  return most;
}

TEST(Gossip, ReachesEveryNodeInFewHops) {
  for (const int nodes : {1, 2, 3, 7, 16, 100, 257, 1250, 10000}) {
    const std::vector<int> distances = gossip_distances(nodes), votes = vote_distances(nodes);
    EXPECT_LE(std::ssize(distances), kMostGossip);
    for (const int distance : distances) EXPECT_TRUE(std::ranges::binary_search(votes, distance)) << distance;
    const int hops = hops_of_gossip(nodes, 0, {});
    EXPECT_GE(hops, 0) << nodes;
    EXPECT_LE(hops, 16) << nodes;
  }
}

TEST(Gossip, GetsAroundNodesThatDoNotAnswer) {
  std::mt19937 random(5);
  for (const int nodes : {64, 300, 1250})
    for (int times = 0; times < 20; ++times) {
      std::set<int> dead;
      while (dead.size() < 5) dead.insert(1 + static_cast<int>(random() % static_cast<unsigned>(nodes - 1)));
      EXPECT_GE(hops_of_gossip(nodes, 0, dead), 0) << nodes;
    }
}

TEST(Tree, HoldsEveryNodeOnce) {
  for (const int nodes : {1, 2, 3, 10, 1250}) {
    std::vector<int> order = tree_order(0, nodes);
    EXPECT_EQ(order.front(), 0);
    std::ranges::sort(order);
    for (int node = 0; node < nodes; ++node) {
      EXPECT_EQ(order[static_cast<std::size_t>(node)], node);
      const TreePlace place = tree_place(node, nodes);
      EXPECT_LE(std::ssize(place.children), kTreeDegree);
      for (const int child : place.children) EXPECT_EQ(tree_place(child, nodes).parent, node);
      EXPECT_EQ(place.parent < 0, node == 0);
    }
  }
  EXPECT_EQ(tree_order(0, 6), (std::vector<int>{0, 1, 3, 4, 2, 5})) << "as gathering brings them";
  EXPECT_EQ(tree_order(1, 6), (std::vector<int>{1, 3, 4}));
}

TEST(Tells, WhoSpeaksForANodeTellsOthers) {
  EXPECT_EQ(who_is_told(GoneFrom::ThisRank, false, true), (Tells{.node = true, .nodes = true}));
  EXPECT_EQ(who_is_told(GoneFrom::ThisNode, true, true), (Tells{.nodes = true}));
  EXPECT_EQ(who_is_told(GoneFrom::ThisNode, false, true), Tells{}) << "everyone there sees it";
  EXPECT_EQ(who_is_told(GoneFrom::Elsewhere, true, false), (Tells{.node = true, .nodes = true}));
  EXPECT_EQ(who_is_told(GoneFrom::Elsewhere, false, false), (Tells{.speaker = true}));
  EXPECT_EQ(who_is_told(GoneFrom::Elsewhere, false, true), Tells{});
}

TEST(Tells, GossipGoesToTheSamePlaceOrToWhoIsLeft) {
  const Layout layout = Layout::of(std::vector{0, 0, 1, 1, 2, 2});
  EXPECT_EQ(gossip_partners(layout, 1, {}), (std::vector<int>{3, 5}));
  EXPECT_EQ(gossip_partners(layout, 1, std::vector{3}), (std::vector<int>{2, 5}));
  EXPECT_EQ(gossip_partners(layout, 1, std::vector{2, 3}), (std::vector<int>{5})) << "nobody is left there";
  EXPECT_EQ(speaker_of(layout.node(1), std::vector{2}), 3);
  EXPECT_EQ(speaker_of(layout.node(1), std::vector{2, 3}), -1);
}

}  // namespace
}  // namespace ronde::comm::detail
