#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "ronde/comm/link/link.h"
#include "ronde/comm/link/shm/node.h"

namespace ronde::comm::detail {

// What a member shows of its part in agreeing between nodes. It alone writes here. Zeroed memory is a valid start.
//
// Each buffer is enough once: a member gives its words of the next round when it has the result of this one, for which
// the first member has read everyone's; and the first member writes the next result when all have given for it, and so
// have read this one.
struct NodeWordsArea {
  alignas(64) std::atomic<std::uint64_t> given;    // rounds for which its words are here
  alignas(64) std::atomic<std::uint64_t> refused;  // the last round that it began with a 0, plus one
  alignas(64) std::atomic<std::uint64_t> handed;   // of the first member: rounds whose result is here
  alignas(64) std::array<std::uint64_t, Link::kMostWords> words;
  alignas(64) std::array<std::uint64_t, Link::kMostWords> result;
};

// How the members of a group on one node bring their words to the first of them, which agrees with other nodes, and get
// what came of it. One message of each member a round, and one more of the first.
class NodeWords {
 public:
  // `members` are ranks of the node, in the group's order; `areas` where each one's NodeWordsArea lies in its arena.
  NodeWords(Node& node, std::vector<int> members, std::span<const std::size_t> areas);

  bool begun() const;               // as Link's
  bool refused() const;             // as Link's
  std::vector<int> silent() const;  // as Link's; of this node
  // Somebody outside has refused the round that is under way, or the next one.
  void pass_on_refusal();

  // 1. Every member; on the first one, each word becomes the minimum of all. `summons`: as in Link::combine().
  Task gather(std::span<std::uint64_t> words, bool summons);
  // 2. Every member: the first one's words become everyone's, and the round is over.
  Task hand_out(std::span<std::uint64_t> words);

  Traffic traffic() const { return traffic_; }

 private:
  bool first() const { return me_ == 0; }
  NodeWordsArea& area(std::size_t member) const { return *areas_[member]; }
  NodeWordsArea& mine() const { return *areas_[me_]; }
  void show_refusal();
  void count(std::size_t words);

  Node& node_;
  std::vector<int> members_, others_;
  std::vector<NodeWordsArea*> areas_;
  std::size_t me_ = 0;
  std::uint64_t rounds_ = 0;
  Traffic traffic_;
};

}  // namespace ronde::comm::detail
