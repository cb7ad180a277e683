#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ronde/comm/link/nodes/nodes_link.h"
#include "ronde/comm/link/nodes/peers.h"

namespace ronde::comm::detail {

// What a link between some ranks needs to know, besides who is where.
struct LinkParts {
  std::shared_ptr<const std::vector<int>> ranks;  // of the job, in the group's order; the own one is among them
  // By member of this node, in that order: where its area lies in its arena.
  std::vector<std::size_t> areas;
  // Of messages between nodes. That of the mesh, where some may be on their way when a group is dropped, is its own for
  // ever; that of data, if something else carries it, belongs to another group when this one is dropped.
  std::uint32_t channel = 0, data_channel = 0;
  NodesTuning tuning = {};
  NodesLink::Status status = {};
};

// What a member needs in its arena, filled with zeros.
std::size_t link_area_bytes();

// Where a rank is: on which node, with whom, and what reaches the others.
struct LinkPlace {
  int rank = 0;
  Node& node;
  const std::vector<int>& here;                 // the ranks of this node
  std::shared_ptr<const Layout> layout;         // of all ranks of the job,
  std::shared_ptr<const std::vector<int>> all;  // which are these
  Messenger* mesh = nullptr;                    // none: all are on this node
  Transport* data = nullptr;                    // none: the mesh carries data, too
};

// Shared memory where all members are on this node; both where they are not.
std::unique_ptr<Link> make_link(const LinkPlace& place, LinkParts parts);
std::unique_ptr<Link> make_link(const Peers& peers, int rank, LinkParts parts);

}  // namespace ronde::comm::detail
