#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/topology/cpu_set.h"
#include "ronde/topology/machine.h"

namespace ronde::topology {

// What decides which cores a rank gets.
enum class Policy {
  Auto,    // Gpu when every rank can have one of its own, otherwise Core
  None,    // nobody is bound
  Core,    // cores of its own, inside one NUMA domain wherever they fit
  Numa,    // one NUMA domain, shared with the other ranks there
  Socket,  // one package, shared likewise
  Gpu,     // cores of its own next to its GPU
};
std::string_view name(Policy policy);
Policy parse_policy(std::string_view name);  // FAILS WITH: BadInput, listing the names there are

struct BindingRequest {
  int ranks = 1;  // on this machine
  Policy policy = Policy::Auto;
  int threads = 0;                // compute threads a rank; 0: as many as fit, the same for all ranks
  bool hardware_threads = false;  // compute on every hardware thread of a core; otherwise on the first alone
  bool engine_core = true;        // keep a core off the computation for communication where there are enough
  bool pin_threads = false;       // each compute thread to a core of its own; see RankBinding::omp_places
};

// Where one rank runs. Cores, domains and cpus have the machine's own numbers.
struct RankBinding {
  int rank = 0;    // among the ranks of this machine, from 0: the local rank of a job on several
  CpuSet cpus;     // the whole process: bind it here
  CpuSet compute;  // the compute threads
  CpuSet engine;   // the thread that communicates; with `compute` where it has no place of its own
  std::vector<int> cores;
  std::vector<int> numa;        // more than one only when a rank needs more cores than a domain has
  std::optional<int> gpu = {};  // position in Machine::gpus; the one that scripts take, local rank modulo their number
  std::string network;          // name of the card to use; empty: none
  int threads = 1;              // OMP_NUM_THREADS
  // OMP_PLACES; empty: leave it unset. One place with all of `cpus`, or, with pin_threads, one a thread. One a thread
  // is not the default because OpenMP then binds the main thread too, and whatever that starts inherits its one core:
  // the workers that load data, the engine.
  std::string omp_places;
};

struct BindingPlan {
  Policy policy = Policy::None;  // the one that was used, never Auto
  std::vector<RankBinding> ranks;
  std::vector<std::string> warnings;  // sentences for the user, one line each
};

// Places ranks on a machine: spread evenly over packages and domains, neighbours next to each other. More ranks than
// cores take turns. Pure: the same machine and request give the same plan, so each rank of a job on several machines
// may make the plan of its own machine, `ranks` being those on it, and take the entry of its local rank.
// FAILS WITH: BadInput for fewer than one rank, negative threads, or a machine without cores.
BindingPlan plan_binding(const Machine& machine, const BindingRequest& request);

}  // namespace ronde::topology
