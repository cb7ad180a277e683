#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/topology/cpu_set.h"

namespace ronde::topology {

// What control groups allow this process, the tightest of its own group and all above it.
struct Limits {
  std::optional<double> cpu_quota = {};            // processor time, in cores
  std::optional<std::uint64_t> memory_bytes = {};  // absent: as much as there is
  friend bool operator==(const Limits&, const Limits&) = default;
};

struct Package {
  int index = 0;  // as the whole machine counts them
};

// Indices into Machine's vectors are called after what they point at; "index" alone is the machine's own number.
struct NumaDomain {
  int index = 0;
  std::optional<int> package = {};  // absent: it spans several
  std::uint64_t memory_bytes = 0;
  bool memory_only = false;  // no core calls it nearest: high-bandwidth memory, memory over CXL
};

struct Core {
  int index = 0;
  int package = 0;
  int numa = 0;
  std::optional<int> l3 = {};  // cores with the same number share their last cache
  CpuSet cpus;                 // its hardware threads that we may use, at least one
};

struct Gpu {
  std::string name;
  std::string bus_id;            // as nvidia-smi and CUDA write it: 0000:1b:00.0
  std::optional<int> numa = {};  // the nearest domain, where the machine knows
  std::string uuid = {};         // GPU-8932f937-..., where the driver says
};

struct NetworkCard {
  enum class Kind { Ethernet, InfiniBand, OmniPath, Slingshot };
  std::string name;  // eth0, ib0, or the name of its fabric device where it has no other
  std::string rdma;  // mlx5_0: its name for direct access, where it has that
  Kind kind = Kind::Ethernet;
  std::string bus_id;
  std::optional<int> numa = {};
  std::optional<double> gbit_per_s = {};
  bool up = true;  // false: no cable, or switched off
};

// One node as this process may use it: cores outside its cpuset or affinity are not listed. An ordinary value, so
// that plans can be made and tested for machines that are not here.
struct Machine {
  std::string hostname;
  std::string cpu_model;
  std::vector<Package> packages;      // sockets
  std::vector<NumaDomain> numa;       // see restricted() for which ones
  std::vector<Core> cores;            // neighbours stand next to each other
  std::vector<Gpu> gpus;              // in the order of their bus ids
  std::vector<NetworkCard> networks;  // those with hardware behind them
  int forbidden_cores = 0;            // cores that the machine has and we may not use
  Limits limits;
};

// The machine that this process runs on. Takes milliseconds; opens no GPU.
// FAILS WITH: System when hwloc cannot read it.
Machine discover();

// A machine out of hwloc's language for them: "pack:2 numa:2 core:4 pu:2".
// FAILS WITH: BadInput.
Machine from_synthetic(const std::string& description);

// A machine that lstopo or hwloc has written to an XML file.
// FAILS WITH: BadInput.
Machine from_xml(const std::filesystem::path& file);

// The same machine as seen by a process that may use only `cpus`: other cores are counted as forbidden, and domains
// and packages go when they hold neither a core of ours nor a device, so that a small job sees a small machine.
Machine restricted(Machine machine, const CpuSet& cpus);

// The same machine as seen by a program that finds `list` in CUDA_VISIBLE_DEVICES (or what other makers call it): the
// GPUs that it names, in its order, which is how the program will number them. Numbers count by bus id; names that the
// machine does not know stand for a GPU that is somewhere. As for CUDA, the list ends at the first number that is none.
Machine with_visible_gpus(Machine machine, std::string_view list);

CpuSet all_cpus(const Machine& machine);
std::uint64_t memory_bytes(const Machine& machine);  // of all domains, whatever the limits
std::string_view name(NetworkCard::Kind kind);

}  // namespace ronde::topology
