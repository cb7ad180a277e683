#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/comm/link/tcp/endpoint.h"

namespace ronde::comm::detail {

// The ranks of a job: where each one runs and listens. A rank keeps this of every other one, however many there are, so
// what ranks of one node have in common is kept once, and the rest is a few bytes. A plain value; pure.
class Directory {
 public:
  struct Entry {
    std::string host = {};
    std::string node = {};     // ranks with the same one share memory; see identify()
    std::string machine = {};  // ranks with the same one reach each other by the loopback
    int pid = 0;
    Endpoint endpoint = {};
  };
  // The next rank. FAILS WITH: Bug after finish().
  void add(const Entry& entry);
  // No more ranks come: lets go of what only add() needs.
  void finish();

  int size() const { return static_cast<int>(ranks_.size()); }
  int nodes() const { return static_cast<int>(nodes_.size()); }
  int pid(int rank) const { return at(rank).pid; }
  int node(int rank) const { return at(rank).node; }  // nodes are numbered by their lowest rank
  const std::string& host(int rank) const { return node_at(rank).host; }
  std::string name(int rank) const;  // "rank 5 on b2 (pid 7)"
  bool one_machine() const { return machines_ <= 1; }
  std::vector<int> node_of() const;  // by rank
  // Where `to` listens: its addresses in the order in which `from` should try them.
  Endpoint endpoint(int from, int to) const;

 private:
  struct Rank {
    std::int32_t pid = 0, node = 0;
    std::uint32_t addresses = 0;  // which of addresses_
    std::uint16_t port = 0;
  };
  struct NodeFacts {
    std::string host;
    std::int32_t machine = 0;
  };
  const Rank& at(int rank) const { return ranks_.at(static_cast<std::size_t>(rank)); }
  const NodeFacts& node_at(int rank) const { return nodes_[static_cast<std::size_t>(at(rank).node)]; }

  std::vector<Rank> ranks_;
  std::vector<NodeFacts> nodes_;
  std::vector<std::vector<Address>> addresses_;  // each once
  int machines_ = 0;
  bool finished_ = false;
  std::map<std::string, std::int32_t, std::less<>> node_numbers_, machine_numbers_;  // until finish()
  std::map<std::string, std::uint32_t, std::less<>> address_numbers_;                // likewise
};

}  // namespace ronde::comm::detail
