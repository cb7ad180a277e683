#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ronde::comm {

// What the ranks of a large job send each other in order to agree, and what they keep, without the job: all ranks are
// in this thread, over a network that only counts. Each has the engine's own group, agreement, link and routes; nothing
// of them is copied here. Only time is not simulated. For `ronde bench control --simulate`.
struct SimulatedJob {
  int ranks = 10000;
  int per_node = 8;
  int tensors = 10;  // a step
};

// The most that any rank has; and how long the longest chain of messages between nodes is.
struct SimulatedCost {
  std::string what = {};
  std::uint64_t messages = 0;          // to agree, those in shared memory included
  std::uint64_t network_messages = 0;  // of these, between nodes
  std::uint64_t data_messages = 0;     // between nodes, with data
  std::uint64_t bytes = 0;             // of all messages between nodes
  std::uint64_t connections = 0;       // one-way, to agree, so far
  std::uint64_t all_connections = 0;   // those for data, too
  std::uint64_t depth = 0;
};

struct SimulatedFacts {
  std::vector<SimulatedCost> costs = {};
  std::uint64_t start_rounds = 0;  // messages in a row: the exchange of all, as MPI does it, and greeting partners
  std::uint64_t start_bytes = 0;   // of memory of a rank, shared areas and what it is told included
  double bytes_per_peer = 0;       // that a rank keeps of one that it is not connected to; 0: cannot be measured
  bool sums_are_right = true;
};

// FAILS WITH: Bug when the ranks come to no end; System when there is no memory.
SimulatedFacts simulate_job(const SimulatedJob& job);

}  // namespace ronde::comm
