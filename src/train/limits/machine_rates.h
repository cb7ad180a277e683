#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "ronde/base/log.h"
#include "ronde/base/settings/environment.h"
#include "ronde/base/system/hardware.h"
#include "ronde/topology/cpu_set.h"
#include "ronde/train/session.h"

// The peak rates of the machine that a training runs on, for the report's bottlenecks and roofline: measured once and
// kept in the user's cache folder.
namespace ronde::train {

// What rates belong to.
struct RatedMachine {
  std::string processor = {};  // as /proc/cpuinfo calls it
  std::string gpu = {};        // empty: the training runs on the processor
  int cpus = 0;                // that ranks of this node may use
  std::string torch = {};      // version of libtorch
};
std::string rates_key(const RatedMachine& machine);  // pure

// What each rank says of itself ("NODE CPUS", as in "0 0-3,8"), and the cpus that ranks of one node may use together.
// Both pure.
std::string cpus_text(int node, const topology::CpuSet& cpus);
topology::CpuSet cpus_of_node(std::span<const std::string> texts, int node);

// Peak rates of the cpus together, or of one GPU. Takes about two seconds, and is true only while the node does nothing
// else. FAILS WITH: System.
MachineRates measure_machine(const torch::Device& device, const topology::CpuSet& cpus);

struct RatesOptions {
  Environment environment = {};  // tells the cache folder
  std::function<MachineRates(const torch::Device&, const topology::CpuSet&)> measure = measure_machine;
};
// The rates that are kept, or measured now: by the first rank of each node, while all other ranks wait. All ranks call
// it. Other ranks get nothing; neither does the first one where they cannot be measured, which is warned about.
// FAILS WITH: as comm::Handle::wait().
std::optional<MachineRates> machine_rates(const Session& session, const RatesOptions& options, const Log& log);

// Metadata "machine rates" of the trace (the first rank of each node). Does nothing without a recorder, or where
// trace.roofline is off. All ranks call it. FAILS WITH: as machine_rates().
void trace_machine(const Session& session, const Log& log);

}  // namespace ronde::train
