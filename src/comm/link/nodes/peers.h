#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ronde/base/log.h"
#include "ronde/base/system/clock.h"
#include "ronde/comm/bootstrap.h"
#include "ronde/comm/link/nodes/layout.h"
#include "ronde/comm/link/shm/mapping.h"
#include "ronde/comm/link/shm/node.h"
#include "ronde/comm/link/tcp/directory.h"
#include "ronde/comm/link/tcp/mesh.h"
#include "ronde/comm/support/close_on_fork.h"
#include "ronde/topology/cpu_quota.h"

namespace ronde::comm::detail {

class Link;

// This rank's connection to the ranks of its node: their arenas, mapped, and a socket to each of them that closes when
// its process ends, however it ends. And to those of other nodes, if there are any.
struct Peers {
  std::shared_ptr<const Directory> job;         // who is where
  std::shared_ptr<const Layout> layout;         // the same by node, members being ranks of the job
  std::shared_ptr<const std::vector<int>> all;  // the ranks of the job
  std::vector<int> ranks;                       // of these, on this node, ascending
  int cpus = 1;                                 // that these have together: fewer than ranks, and they must not spin
  std::shared_ptr<Node> node;                   // its ranks are positions in `ranks`
  std::vector<FileDescriptor> sockets;          // by position; the own one is empty
  std::vector<support::CloseOnFork> guards;     // of the sockets: forked children do not keep them
  std::unique_ptr<Mesh> mesh;                   // none when all ranks are on this node
  std::shared_ptr<Transport> data;              // what carries data between nodes; none: the mesh
  int node_of(int rank) const { return layout->node_of[static_cast<std::size_t>(rank)]; }
  // Fills in what follows from who is where.
  void take_job(Directory directory);
  Transport& transport() const { return data ? *data : *mesh; }
  // Must somebody look, since nobody is woken?
  bool must_be_pumped() const { return mesh && (mesh->must_be_pumped() || (data && data->must_be_pumped())); }
};

struct ConnectOptions {
  std::size_t arena_bytes = std::size_t{1} << 30;  // reserved, not used
  int pretend_nodes = 1;                           // ranks act as if they were on so many machines
  std::string interfaces = {};                     // see listen_for_peers()
  std::chrono::seconds peer_timeout{6};            // see Mesh
  Log log = Log();
  bool tcp_only = false;  // also where the bootstrap brings something better along
};

// All ranks of the job call it at the same time.
// FAILS WITH: PeerLost or Timeout, naming the rank that did not come; System.
Peers connect_peers(Bootstrap& bootstrap, const ConnectOptions& options, Deadline until);

// Which node a rank pretends to be on: as many ranks on each, as far as possible. Pure.
int pretended_node(int rank, int ranks, int nodes);
}  // namespace ronde::comm::detail
