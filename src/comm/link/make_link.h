#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ronde/comm/link/nodes/nodes_link.h"
#include "ronde/comm/link/nodes/peers.h"

namespace ronde::comm::detail {

// What a link between some ranks needs to know, besides who is where.
struct LinkParts {
  std::vector<int> ranks;          // of the job, in the group's order; the own one is among them
  std::vector<std::size_t> areas;  // by member: where its GroupArea lies in its arena
  // Of messages between nodes. That of the mesh, where some may be on their way when a group is dropped, is its own for
  // ever; that of data, if something else carries it, belongs to another group when this one is dropped.
  std::uint32_t channel = 0, data_channel = 0;
  NodesTuning tuning = {};
  NodesLink::Status status = {};
};

// Shared memory where all of them are on this node; both where they are not.
std::unique_ptr<Link> make_link(const Peers& peers, int rank, LinkParts parts);

}  // namespace ronde::comm::detail
