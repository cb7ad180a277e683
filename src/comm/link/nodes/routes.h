#pragma once

#include <span>
#include <vector>

#include "ronde/comm/link/nodes/layout.h"

// Whom ranks of different nodes tell what, so that nobody sends many messages or has many connections, however many
// nodes there are. All of it is pure.
namespace ronde::comm::detail {

// 1, 2, 4, ... below the number of nodes: agreeing connects a node with those at these distances after it.
std::vector<int> vote_distances(int nodes);

// What everyone must hear goes by gossip: who hears it for the first time tells the nodes at these distances after it:
// at most kMostGossip of vote_distances(), the first of them 1. So it needs no connections of its own, reaches everyone
// in few hops, and gets around nodes that do not answer.
inline constexpr int kMostGossip = 8;
std::vector<int> gossip_distances(int nodes);

// What is gathered from all nodes, or comes from one to all, goes along a binary tree whose root is node 0.
inline constexpr int kTreeDegree = 2;
struct TreePlace {
  int parent = -1;  // none: the root
  std::vector<int> children = {};
};
TreePlace tree_place(int node, int nodes);
// The nodes below one of the tree, itself first and in the order in which gathering brings them: depth first.
std::vector<int> tree_order(int node, int nodes);

// To whom a rank is connected from the start: to those that stand where it stands in their nodes, at vote_distances().
// So everyone hears of everyone, and nobody has many connections.
struct Partners {
  std::vector<int> call = {}, called_by = {};
};
Partners first_partners(const Layout& layout, int rank);

// Whom a rank tells that a rank has gone, itself or another, when it first hears of it. One rank speaks for each node:
// the lowest that has not gone.
struct Tells {
  bool node = false;     // all ranks of its node
  bool speaker = false;  // the one that speaks for its node, alone
  bool nodes = false;    // other nodes, by gossip
  friend bool operator==(const Tells&, const Tells&) = default;
};
enum class GoneFrom { ThisRank, ThisNode, Elsewhere };
// `from_node`: a rank of this node has told it.
Tells who_is_told(GoneFrom gone, bool speaks, bool from_node);

// The ranks to which gossip goes from one: on each node at gossip_distances() the one in the same place, or, where that
// one is gone, the lowest that is not. `gone`: ascending.
std::vector<int> gossip_partners(const Layout& layout, int rank, std::span<const int> gone);

// The lowest rank of a node that has not gone; -1: none. `gone`: ascending.
int speaker_of(std::span<const int> node, std::span<const int> gone);

}  // namespace ronde::comm::detail
