#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/topology/host.h"

// What the ranks of `ronde run --check` tell each other about themselves before they talk by the engine.
namespace ronde::bench::detail {

// Something that should be the same on every node. An empty value: it is not there.
struct Trait {
  std::string what;
  std::string value;
  bool matters = true;  // false: worth a note, but no reason to stop
  bool needed = false;  // wrong as well when no node has it
  friend bool operator==(const Trait&, const Trait&) = default;
};

struct GpuFacts {
  std::string name;
  std::string bus_id;
  std::uint64_t total = 0;
  std::uint64_t free = 0;
  friend bool operator==(const GpuFacts&, const GpuFacts&) = default;
};

// Seconds.
struct StartTimes {
  std::optional<double> launch = {};  // from `ronde run` to this process, by the clocks of two machines
  double load = 0.0;                  // from there to main(): libraries
  double meet = 0.0;                  // the bootstrap, MPI's start included
  double engine = 0.0;
  friend bool operator==(const StartTimes&, const StartTimes&) = default;
};

// What a rank is asked first; who has the same machine is one node.
struct RankFacts {
  std::string machine;  // differs between any two machines
  std::string host;
  std::optional<GpuFacts> gpu = {};  // the one that it would take
  std::string no_gpu = {};           // why it has none
  StartTimes start = {};
  friend bool operator==(const RankFacts&, const RankFacts&) = default;
};

// What the first rank of a node is asked as well.
struct NodeFacts {
  std::vector<Trait> traits = {};
  int cores = 0;
  std::uint64_t memory_total = 0;
  std::uint64_t memory_free = 0;
  friend bool operator==(const NodeFacts&, const NodeFacts&) = default;
};

std::string to_blob(const RankFacts& facts);
std::string to_blob(const NodeFacts& facts);
// FAILS WITH: Mismatch for a blob that this version of Ronde has not written.
RankFacts rank_facts_from(std::string_view blob);
NodeFacts node_facts_from(std::string_view blob);

// A trait that stands for all libraries; where it differs, each of them is asked for.
inline constexpr std::string_view kLibraries = "the set of loaded libraries";
bool same_libraries(std::span<const NodeFacts> nodes);

// Which of the GPUs that it sees a rank takes: the only one, or that of its number on the node, as everyone does.
std::optional<GpuFacts> own_gpu(std::span<const GpuFacts> visible, int local_rank);

// Ranks of one machine are a node; nodes in the order of their first ranks.
struct Nodes {
  std::vector<int> of_rank = {};
  std::vector<std::vector<int>> ranks = {};  // by node, ascending
  std::vector<std::string> names = {};       // the host; with a number where two machines have one name
};
Nodes find_nodes(std::span<const RankFacts> ranks);

}  // namespace ronde::bench::detail
