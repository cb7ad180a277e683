#pragma once

#include <string>
#include <string_view>
#include <vector>

// Which machines a job may use, and how many of its ranks each of them gets. All pure.
namespace ronde::launch {

struct Host {
  std::string name;
  int slots = 1;  // ranks that it is meant to have
  int most = 1;   // ranks that its share of processors allows; at least `slots`
  friend bool operator==(const Host&, const Host&) = default;
};

// "node1:2,node2": a name without a number has one slot; a name that comes again adds to its slots.
// FAILS WITH: BadInput, naming `flag` and the word at fault.
std::vector<Host> parse_hosts(std::string_view text, std::string_view flag);

// A host file, one machine a line, in any of the ways that launchers have: "n1 slots=2 max_slots=4" (Open MPI,
// horovodrun), "n1:2" (MPICH), "n1" repeated once a slot (PBS, LSF). # begins a comment.
// FAILS WITH: BadInput, naming file and line.
std::vector<Host> parse_hostfile(std::string_view text, const std::string& file);

// Adds slots to the host of that name, or appends it: hosts keep the order in which they came.
void add_slots(std::vector<Host>& hosts, const std::string& name, int slots);

// What a user said about the number of ranks.
struct RankCount {
  int ranks = 0;     // 0: as many as there are slots
  int per_host = 0;  // 0: as the hosts say; otherwise each host has this many slots
  bool oversubscribe = false;
};

// One host's part of the ranks: rank numbers go on from one host to the next.
struct HostShare {
  std::string name;
  int ranks = 0;
  friend bool operator==(const HostShare&, const HostShare&) = default;
};

struct Placement {
  std::vector<HostShare> hosts;  // those that have ranks
  int ranks = 0;
  bool oversubscribed = false;             // more ranks than slots
  std::vector<std::string> warnings = {};  // one line each
};

// Fills the hosts in order. When there are more ranks than slots but enough processors (a Slurm job that asked for
// nodes and not for tasks), the ranks are spread evenly; beyond that it takes `oversubscribe`.
// REQUIRES: hosts is not empty.
// FAILS WITH: BadInput when there are not enough slots.
Placement place_ranks(std::vector<Host> hosts, const RankCount& count);

// Whether a host that is called `name` is the machine that calls itself `this_host`.
bool is_this_host(std::string_view name, std::string_view this_host);
bool all_on_this_host(const Placement& placement, std::string_view this_host);

// Ranks of each host, equal neighbours together, as Slurm writes it: "4(x2),1"; and back.
// FAILS WITH: BadInput, naming `origin`.
std::string format_layout(const std::vector<int>& counts);
std::vector<int> parse_layout(std::string_view text, std::string_view origin);

// The layout of a placement.
std::vector<int> layout_of(const Placement& placement);

}  // namespace ronde::launch
