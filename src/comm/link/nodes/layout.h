#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace ronde::comm::detail {

// Where the members of a group are: which share a node. Nodes are in the order of their first member.
struct Layout {
  std::vector<std::vector<int>> nodes;  // members by node, ascending
  std::vector<int> node_of;             // by member
  std::vector<int> place_of;            // by member: where it stands in its node

  // `where`: by member, any number that tells machines apart.
  static Layout of(std::span<const int> where) {
    Layout layout;
    std::vector<int> seen;
    for (std::size_t member = 0; member < where.size(); ++member) {
      const auto found = std::ranges::find(seen, where[member]);
      const auto node = static_cast<std::size_t>(found - seen.begin());
      if (found == seen.end()) {
        seen.push_back(where[member]);
        layout.nodes.emplace_back();
      }
      layout.node_of.push_back(static_cast<int>(node));
      layout.place_of.push_back(static_cast<int>(layout.nodes[node].size()));
      layout.nodes[node].push_back(static_cast<int>(member));
    }
    return layout;
  }

  int count() const { return static_cast<int>(nodes.size()); }
  const std::vector<int>& node(int number) const { return nodes[static_cast<std::size_t>(number)]; }
  // The member of that node which stands for place `place`, of which smaller nodes have several.
  int stand_in(int node_number, int place) const {
    const auto& members = node(node_number);
    return members[static_cast<std::size_t>(place) % members.size()];
  }
  // The largest node has so many members.
  std::size_t widest() const {
    return std::ranges::max(nodes, {}, [](const auto& node) { return node.size(); }).size();
  }
  // So many members of each node can work side by side.
  std::size_t narrowest() const {
    return std::ranges::min(nodes, {}, [](const auto& node) { return node.size(); }).size();
  }
};

}  // namespace ronde::comm::detail
