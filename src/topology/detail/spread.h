#pragma once

#include <optional>
#include <vector>

#include "ronde/topology/machine.h"

// Who gets which part of a machine. Pure functions over numbers of units.
namespace ronde::topology::detail {

// What is handed out: a core, or a hardware thread when there are more ranks than cores.
struct Unit {
  int core = 0;  // position in Machine::cores
  CpuSet cpus;   // where its compute threads run
  CpuSet spare;  // hardware threads of the core that stay idle
};
std::vector<Unit> make_units(const Machine& machine, int ranks, bool hardware_threads);

// What one rank gets: positions in the list of units, neighbours next to each other.
struct Share {
  std::vector<int> units;
  int sharers = 1;  // how many ranks have this same share
};

// Divides `ranks` by weight so that the rank with the least has as much as possible; of equals, the first.
std::vector<int> apportion(const std::vector<int>& weights, int ranks);

// A share of its own for each rank. Ranks keep within a domain, or take whole ones.
std::vector<Share> spread_over_cores(const Machine& machine, const std::vector<Unit>& units, int ranks);
// The same without regard to domains: for ranks that must have more cores than a domain can give.
std::vector<Share> spread_in_a_row(const std::vector<Unit>& units, int ranks);
// Each rank gets a whole domain, or a whole package.
std::vector<Share> spread_over_domains(const Machine& machine, const std::vector<Unit>& units, int ranks);
std::vector<Share> spread_over_packages(const Machine& machine, const std::vector<Unit>& units, int ranks);
// Rank r sits next to GPU r modulo their number. Absent when the machine does not say where a GPU is, or when it is in
// a package without a core of ours.
std::optional<std::vector<Share>> spread_over_gpus(const Machine& machine, const std::vector<Unit>& units, int ranks);

}  // namespace ronde::topology::detail
