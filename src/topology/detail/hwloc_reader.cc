#include "ronde/topology/detail/hwloc_reader.h"

#include <algorithm>
#include <set>

#include "ronde/base/text/format.h"
#include "ronde/topology/detail/cards.h"

namespace ronde::topology::detail {
namespace {

CpuSet to_cpu_set(hwloc_const_bitmap_t bitmap) {
  std::vector<int> cpus;
  for (int cpu = hwloc_bitmap_first(bitmap); cpu >= 0; cpu = hwloc_bitmap_next(bitmap, cpu)) cpus.push_back(cpu);
  return CpuSet(std::move(cpus));
}

std::string info(hwloc_obj_t object, const char* key) {
  const char* value = object ? hwloc_obj_get_info_by_name(object, key) : nullptr;
  return value ? value : "";
}

int index_of_ancestor(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_obj_t object, int otherwise) {
  const hwloc_obj_t ancestor = hwloc_get_ancestor_obj_by_type(topology, type, object);
  return ancestor ? static_cast<int>(ancestor->logical_index) : otherwise;
}

void read_packages(hwloc_topology_t topology, Machine& machine) {
  // Some virtual machines show no sockets; their cores then sit in one.
  const int count = std::max(1, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE));
  for (int i = 0; i < count; ++i) machine.packages.push_back({.index = i});
  machine.cpu_model = info(hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0), "CPUModel");
  if (machine.cpu_model.empty()) machine.cpu_model = info(hwloc_get_root_obj(topology), "CPUModel");
}

// The package around a domain, if one holds it alone. Memory hangs beside the tree of cores, hence the sets.
std::optional<int> package_around(hwloc_topology_t topology, hwloc_obj_t domain) {
  if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE) <= 1) return 0;
  const hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, domain);
  return package ? std::optional<int>(package->logical_index) : std::nullopt;
}

void read_domains(hwloc_topology_t topology, Machine& machine) {
  const int count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
  for (int i = 0; i < count; ++i) {
    const hwloc_obj_t domain = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, i);
    machine.numa.push_back({.index = static_cast<int>(domain->os_index),
                            .package = package_around(topology, domain),
                            .memory_bytes = domain->attr->numanode.local_memory});
  }
}

// Position in Machine::numa of the first domain of a set. Where several are local (fast and ordinary memory side by
// side) the kernel numbers the ordinary one first.
std::optional<int> first_domain(const Machine& machine, hwloc_const_nodeset_t nodes) {
  for (std::size_t i = 0; i < machine.numa.size(); ++i)
    if (hwloc_bitmap_first(nodes) == machine.numa[i].index) return static_cast<int>(i);
  return std::nullopt;
}

void read_cores(hwloc_topology_t topology, Machine& machine) {
  const hwloc_obj_type_t type = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  const int count = hwloc_get_nbobjs_by_type(topology, type);
  for (int i = 0; i < count; ++i) {
    const hwloc_obj_t core = hwloc_get_obj_by_type(topology, type, i);
    const int l3 = index_of_ancestor(topology, HWLOC_OBJ_L3CACHE, core, -1);
    machine.cores.push_back({.index = i,
                             .package = index_of_ancestor(topology, HWLOC_OBJ_PACKAGE, core, 0),
                             .numa = first_domain(machine, core->nodeset).value_or(0),
                             .l3 = l3 < 0 ? std::nullopt : std::optional<int>(l3),
                             .cpus = to_cpu_set(core->cpuset)});
  }
  std::set<int> nearest;
  for (const Core& core : machine.cores) nearest.insert(core.numa);
  for (std::size_t i = 0; i < machine.numa.size(); ++i)
    machine.numa[i].memory_only = !nearest.contains(static_cast<int>(i));
}

std::optional<int> nearest_domain(hwloc_topology_t topology, const Machine& machine, hwloc_obj_t device) {
  const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology, device);
  if (place->type == HWLOC_OBJ_MACHINE && machine.numa.size() > 1) return std::nullopt;  // equally far from all
  return first_domain(machine, place->nodeset);
}

PciId pci_id(hwloc_obj_t device) {
  const auto& pci = device->attr->pcidev;
  return {.device_class = pci.class_id, .vendor = pci.vendor_id, .device = pci.device_id};
}

std::string bus_id(hwloc_obj_t device) {
  const auto& pci = device->attr->pcidev;
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", static_cast<unsigned>(pci.domain), pci.bus, pci.dev, pci.func);
}

Gpu read_gpu(hwloc_topology_t topology, const Machine& machine, hwloc_obj_t device) {
  const std::string model = info(device, "PCIDevice");
  return {.name = model.empty() ? fallback_gpu_name(pci_id(device)) : model,
          .bus_id = bus_id(device),
          .numa = nearest_domain(topology, machine, device)};
}

// One card may answer to two names: eth0 for sockets and mlx5_0 for direct access.
std::optional<NetworkCard> read_card(hwloc_topology_t topology, const Machine& machine, hwloc_obj_t device) {
  NetworkCard card;
  std::string address;
  for (hwloc_obj_t child = device->io_first_child; child; child = child->next_sibling) {
    if (child->type != HWLOC_OBJ_OS_DEVICE || !child->name) continue;
    if (child->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS && card.rdma.empty()) card.rdma = child->name;
    if (child->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK && card.name.empty()) {
      card.name = child->name;
      address = info(child, "Address");
    }
  }
  if (card.name.empty()) card.name = card.rdma;
  if (card.name.empty()) return std::nullopt;
  card.kind = kind_of_card(card.rdma.empty() ? card.name : card.rdma, pci_id(device).device_class, address);
  card.bus_id = bus_id(device);
  card.numa = nearest_domain(topology, machine, device);
  return card;
}

void read_devices(hwloc_topology_t topology, Machine& machine) {
  for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_pcidev(topology, device));) {
    if (is_compute_gpu(pci_id(device))) machine.gpus.push_back(read_gpu(topology, machine, device));
    if (auto card = read_card(topology, machine, device)) machine.networks.push_back(std::move(*card));
  }
  const auto by_bus = [](const auto& a, const auto& b) { return a.bus_id < b.bus_id; };
  std::sort(machine.gpus.begin(), machine.gpus.end(), by_bus);
  std::sort(machine.networks.begin(), machine.networks.end(), by_bus);
}

}  // namespace

Machine read_machine(hwloc_topology_t topology) {
  Machine machine;
  machine.hostname = info(hwloc_get_root_obj(topology), "HostName");
  read_packages(topology, machine);
  read_domains(topology, machine);
  read_cores(topology, machine);
  read_devices(topology, machine);
  return restricted(std::move(machine), to_cpu_set(hwloc_topology_get_allowed_cpuset(topology)));
}

}  // namespace ronde::topology::detail
