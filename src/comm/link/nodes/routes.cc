#include "ronde/comm/link/nodes/routes.h"

#include <algorithm>
#include <cstddef>

namespace ronde::comm::detail {

std::vector<int> vote_distances(int nodes) {
  std::vector<int> distances;
  for (int distance = 1; distance < nodes; distance *= 2) distances.push_back(distance);
  return distances;
}

std::vector<int> gossip_distances(int nodes) {
  const std::vector<int> all = vote_distances(nodes);
  const std::size_t count = std::min<std::size_t>(all.size(), kMostGossip);
  std::vector<int> some;
  for (std::size_t i = 0; i < count; ++i)
    some.push_back(all[count < 2 ? i : (i * (all.size() - 1) + (count - 1) / 2) / (count - 1)]);
  return some;
}

TreePlace tree_place(int node, int nodes) {
  TreePlace place{.parent = node == 0 ? -1 : (node - 1) / kTreeDegree};
  for (int i = 1; i <= kTreeDegree; ++i)
    if (kTreeDegree * node + i < nodes) place.children.push_back(kTreeDegree * node + i);
  return place;
}

std::vector<int> tree_order(int node, int nodes) {
  std::vector<int> order, next{node};
  while (!next.empty()) {
    order.push_back(next.back());
    next.pop_back();
    const TreePlace place = tree_place(order.back(), nodes);
    next.insert(next.end(), place.children.rbegin(), place.children.rend());
  }
  return order;
}

Partners first_partners(const Layout& layout, int rank) {
  const auto place = static_cast<std::size_t>(layout.place_of[static_cast<std::size_t>(rank)]);
  std::vector<int> line;  // one rank a node, where there is one
  for (const auto& node : layout.nodes)
    if (place < node.size()) line.push_back(node[place]);
  const auto me = static_cast<std::size_t>(std::ranges::find(line, rank) - line.begin());
  Partners partners;
  for (const int distance : vote_distances(static_cast<int>(line.size()))) {
    const auto far = static_cast<std::size_t>(distance);
    partners.call.push_back(line[(me + far) % line.size()]);
    partners.called_by.push_back(line[(me + line.size() - far) % line.size()]);
  }
  return partners;
}

// Who leaves tells other nodes itself: the one that speaks for its node may be leaving at the same time.
Tells who_is_told(GoneFrom gone, bool speaks, bool from_node) {
  switch (gone) {
    case GoneFrom::ThisRank: return {.node = true, .nodes = true};
    case GoneFrom::ThisNode: return {.nodes = speaks};  // its other ranks see it themselves
    default: return {.node = speaks, .speaker = !speaks && !from_node, .nodes = speaks};
  }
}

std::vector<int> gossip_partners(const Layout& layout, int rank, std::span<const int> gone) {
  const auto member = static_cast<std::size_t>(rank);
  const int here = layout.node_of[member];
  std::vector<int> partners;
  for (const int distance : gossip_distances(layout.count())) {
    const int there = (here + distance) % layout.count(), same = layout.stand_in(there, layout.place_of[member]);
    const int partner = std::ranges::binary_search(gone, same) ? speaker_of(layout.node(there), gone) : same;
    if (partner >= 0) partners.push_back(partner);
  }
  return partners;
}

int speaker_of(std::span<const int> node, std::span<const int> gone) {
  const auto left = [&](int rank) { return !std::ranges::binary_search(gone, rank); };
  const auto first = std::ranges::find_if(node, left);
  return first == node.end() ? -1 : *first;
}

}  // namespace ronde::comm::detail
