#pragma once

#include <string>
#include <vector>

#include "ronde/comm/link/shm/shared_cores.h"
#include "ronde/comm/link/tcp/directory.h"
#include "ronde/comm/link/tcp/introduction.h"

// What ranks tell each other when they first meet, once for all: each meeting costs a large job dozens of messages in a
// row. All of it is pure.
namespace ronde::comm::detail {

// What a rank tells everyone. It does not know yet who is where, so it listens in two ways; the one that turns out not
// to be needed is closed.
struct Told {
  Introduction who = {};
  Endpoint here = {};       // on the loopback alone, for a job on one machine; no addresses: it does not listen there
  Endpoint outside = {};    // on the networks of its machine; likewise
  std::string secret = {};  // rank 0: by which ranks of the job know each other
};
std::string write_told(const Told& told);
// FAILS WITH: System for text that is none.
Told read_told(const std::string& blob);

// What follows from what all have told, for one of them.
struct Everyone {
  Directory job = {};
  bool on_loopback = false;                 // other nodes are reached there
  std::vector<int> ranks = {};              // of the job, on this node, ascending
  std::vector<std::string> addresses = {};  // of their sockets for ranks of this node
  std::vector<RankCores> cores = {};        // that they may use
  std::string secret = {};
};
// `any_interface`: no comm.interface is set. FAILS WITH: as read_told().
Everyone read_everyone(const std::vector<std::string>& blobs, int rank, bool any_interface);

}  // namespace ronde::comm::detail
