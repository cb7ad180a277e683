#include "ronde/comm/link/nodes/make_link.h"

#include <algorithm>

namespace ronde::comm::detail {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t round_up(std::size_t bytes) {
  return (bytes + kLine - 1) / kLine * kLine;
}

// What the members of one node share; behind it what they agree with other nodes over.
constexpr std::size_t kGroupBytes = round_up(sizeof(GroupArea));

}  // namespace

std::size_t link_area_bytes() {
  return kGroupBytes + round_up(sizeof(NodeWordsArea));
}

std::unique_ptr<Link> make_link(const LinkPlace& place, LinkParts parts) {
  const auto place_here = [&](int one) {
    return static_cast<int>(std::ranges::find(place.here, one) - place.here.begin());
  };
  std::shared_ptr<const Layout> layout = place.layout;
  if (parts.ranks != place.all) {  // otherwise who is where is known already
    std::vector<int> where;
    for (const int one : *parts.ranks) where.push_back(place.layout->node_of[static_cast<std::size_t>(one)]);
    layout = std::make_shared<const Layout>(Layout::of(where));
  }
  const int me = static_cast<int>(std::ranges::find(*parts.ranks, place.rank) - parts.ranks->begin());
  std::vector<int> local_ranks;  // of the node
  for (const int member : layout->node(layout->node_of[static_cast<std::size_t>(me)]))
    local_ranks.push_back(place_here((*parts.ranks)[static_cast<std::size_t>(member)]));
  auto local = std::make_unique<ShmLink>(place.node, local_ranks, parts.areas);
  if (layout->count() == 1) return local;
  std::vector<std::size_t> areas = parts.areas;
  for (std::size_t& area : areas) area += kGroupBytes;
  return std::make_unique<NodesLink>(NodesLink::Parts{.local = std::move(local),
                                                      .words = NodeWords(place.node, std::move(local_ranks), areas),
                                                      .layout = std::move(layout),
                                                      .ranks = std::move(parts.ranks),
                                                      .me = me,
                                                      .channel = parts.channel,
                                                      .data_channel = place.data ? parts.data_channel : parts.channel,
                                                      .mesh = *place.mesh,
                                                      .data = place.data ? *place.data : *place.mesh,
                                                      .tuning = parts.tuning,
                                                      .status = std::move(parts.status)});
}

std::unique_ptr<Link> make_link(const Peers& peers, int rank, LinkParts parts) {
  return make_link({.rank = rank,
                    .node = *peers.node,
                    .here = peers.ranks,
                    .layout = peers.layout,
                    .all = peers.all,
                    .mesh = peers.mesh.get(),
                    .data = peers.data.get()},
                   std::move(parts));
}

}  // namespace ronde::comm::detail
