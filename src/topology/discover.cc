#include <algorithm>
#include <cerrno>
#include <memory>
#include <type_traits>

#include <hwloc.h>

#include "ronde/base/error.h"
#include "ronde/topology/affinity.h"
#include "ronde/topology/detail/cards.h"
#include "ronde/topology/detail/cgroup.h"
#include "ronde/topology/detail/hwloc_reader.h"
#include "ronde/topology/host.h"
#include "ronde/topology/machine.h"

namespace ronde::topology {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy>;

Topology new_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw Error::system(errno, "hwloc cannot start");
  Topology topology(raw);
  // Cores that are not ours are read as well, to be counted.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  // "pci" reads what "linux" reads too, by a library that leaks; the others open every GPU, which costs seconds and
  // memory on it. The kernel's files tell us enough.
  for (const char* component : {"pci", "cuda", "nvml", "opencl", "rsmi", "levelzero", "gl"})
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
  return topology;
}

}  // namespace

Machine discover() {
  const Topology topology = new_topology();
  if (hwloc_topology_load(topology.get()) != 0) throw Error::system(errno, "hwloc cannot read this machine");
  Machine machine = detail::read_machine(topology.get());
  // hwloc can be told by its own variables to pretend another machine; then nothing of this one applies.
  if (hwloc_topology_is_thissystem(topology.get())) {
    machine.hostname = host_name();
    // Virtual machines that grow as they are used report the memory of their domain too low; with one it is all of it.
    if (machine.numa.size() == 1)
      machine.numa.front().memory_bytes = std::max(machine.numa.front().memory_bytes, memory().total);
    machine = restricted(std::move(machine), affinity_of_this_thread());
    machine.limits = detail::read_limits("/");
    for (NetworkCard& card : machine.networks) detail::read_card_state("/", card);
    for (Gpu& gpu : machine.gpus) {
      gpu.name = detail::read_gpu_fact("/", gpu.bus_id, "Model").value_or(gpu.name);
      gpu.uuid = detail::read_gpu_fact("/", gpu.bus_id, "GPU UUID").value_or("");
    }
  }
  return machine;
}

Machine from_synthetic(const std::string& description) {
  const Topology topology = new_topology();
  if (hwloc_topology_set_synthetic(topology.get(), description.c_str()) != 0 ||
      hwloc_topology_load(topology.get()) != 0)
    throw Error::bad_input(
        "'{}' is not a machine description that hwloc understands, such as pack:2 numa:2 core:4 pu:2", description);
  return detail::read_machine(topology.get());
}

Machine from_xml(const std::filesystem::path& file) {
  const Topology topology = new_topology();
  if (hwloc_topology_set_xml(topology.get(), file.c_str()) != 0 || hwloc_topology_load(topology.get()) != 0)
    throw Error::bad_input("{}: not a machine description written by hwloc (lstopo)", file.string());
  return detail::read_machine(topology.get());
}

}  // namespace ronde::topology
