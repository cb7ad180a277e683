#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ronde/base/clock.h"
#include "ronde/comm/bootstrap.h"
#include "ronde/comm/link/mapping.h"
#include "ronde/comm/link/node.h"

namespace ronde::comm::detail {

// A rank of the job, as it introduces itself to the others.
struct Introduction {
  std::string host;
  std::string node;     // what tells machines apart: boot id and host name
  std::string address;  // of a socket where ranks of the same node find it
  int pid = 0;
  std::string cpus = {};  // that it may use
};
std::string write_introduction(const Introduction& mine);
// FAILS WITH: System for text that is none.
Introduction read_introduction(const std::string& text);

// This rank's connection to the ranks of its node: their arenas, mapped, and a socket to each of them that closes when
// its process ends, however it ends.
struct Neighbours {
  std::vector<Introduction> job;        // by rank of the job
  std::vector<int> ranks;               // of the job, on this node, ascending
  int cpus = 1;                         // that these have together: fewer than ranks, and they must not spin
  std::shared_ptr<Node> node;           // its ranks are positions in `ranks`
  std::vector<FileDescriptor> sockets;  // by position; the own one is empty
};

// All ranks of the job call it at the same time. `arena_bytes` is reserved, not used.
// FAILS WITH: PeerLost or Timeout, naming the rank that did not come; System.
Neighbours meet_neighbours(Bootstrap& bootstrap, std::size_t arena_bytes, Deadline until);

}  // namespace ronde::comm::detail
