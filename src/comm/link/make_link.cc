#include "ronde/comm/link/make_link.h"

#include <algorithm>

namespace ronde::comm::detail {

std::unique_ptr<Link> make_link(const Peers& peers, int rank, LinkParts parts) {
  const auto node_of = [&](int one) { return peers.node_of[static_cast<std::size_t>(one)]; };
  std::vector<int> local_ranks, where;
  std::vector<std::size_t> areas;
  for (std::size_t member = 0; member < parts.ranks.size(); ++member) {
    const int one = parts.ranks[member];
    where.push_back(node_of(one));
    if (where.back() != node_of(rank)) continue;
    local_ranks.push_back(static_cast<int>(std::ranges::find(peers.ranks, one) - peers.ranks.begin()));
    areas.push_back(parts.areas[member]);
  }
  auto local = std::make_unique<ShmLink>(*peers.node, std::move(local_ranks), areas);
  Layout layout = Layout::of(where);
  if (layout.count() == 1) return local;
  const int me = static_cast<int>(std::ranges::find(parts.ranks, rank) - parts.ranks.begin());
  return std::make_unique<NodesLink>(NodesLink::Parts{.local = std::move(local),
                                                      .layout = std::move(layout),
                                                      .ranks = std::move(parts.ranks),
                                                      .me = me,
                                                      .channel = parts.channel,
                                                      .data_channel = peers.data ? parts.data_channel : parts.channel,
                                                      .mesh = *peers.mesh,
                                                      .data = peers.transport(),
                                                      .tuning = parts.tuning,
                                                      .status = std::move(parts.status)});
}

}  // namespace ronde::comm::detail
