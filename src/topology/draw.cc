#include "ronde/topology/draw.h"

#include <algorithm>
#include <string_view>

#include "ronde/base/text/format.h"
#include "ronde/base/text/table.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/topology/detail/tree.h"

namespace ronde::topology {
namespace {

using detail::Node;

std::string cores_text(const std::vector<const Core*>& cores) {
  std::vector<int> indices;
  CpuSet cpus;
  bool same = true;
  for (const Core* core : cores) {
    indices.push_back(core->index);
    cpus |= core->cpus;
    same = same && core->cpus.size() == cores.front()->cpus.size();
  }
  const CpuSet numbers(indices);
  std::string text = fmt::format("core{} {}", cores.size() == 1 ? "" : "s", numbers.format());
  if (numbers == cpus) return text;
  const int each = cores.front()->cpus.size();
  if (same && each > 1) return text + fmt::format(" ({} threads each: cpus {})", each, cpus.format());
  return text + fmt::format(" (cpu{} {})", cpus.size() == 1 ? "" : "s", cpus.format());
}

Node gpu_node(const Machine& machine, std::size_t i) {
  return {fmt::format("GPU {}: {}, {}", i, machine.gpus[i].name, machine.gpus[i].bus_id)};
}

Node network_node(const NetworkCard& card) {
  std::string text = fmt::format("network card {}", card.name);
  if (!card.rdma.empty() && card.rdma != card.name) text += fmt::format(" ({})", card.rdma);
  text += fmt::format(": {}", name(card.kind));
  if (card.gbit_per_s) text += fmt::format(", {:g} Gbit/s", *card.gbit_per_s);
  if (!card.up) text += ", down";
  return {text + fmt::format(", {}", card.bus_id)};
}

void add_devices(const Machine& machine, std::optional<int> numa, Node& node) {
  for (std::size_t i = 0; i < machine.gpus.size(); ++i)
    if (machine.gpus[i].numa == numa) node.children.push_back(gpu_node(machine, i));
  for (const NetworkCard& card : machine.networks)
    if (card.numa == numa) node.children.push_back(network_node(card));
}

// A domain as seen from `package`; one that spans packages is drawn in each, its devices in the first.
Node numa_node(const Machine& machine, int numa, int package) {
  const NumaDomain& domain = machine.numa[numa];
  std::vector<const Core*> cores;
  bool first = true;
  for (const Core& core : machine.cores) {
    if (core.numa != numa) continue;
    if (core.package == package) cores.push_back(&core);
    if (core.package < package) first = false;
  }
  Node node{fmt::format("NUMA {}: {}{}, {}", domain.index, format_bytes(domain.memory_bytes),
                        domain.package || cores.empty() ? "" : " shared by packages",
                        !cores.empty()       ? cores_text(cores)
                        : domain.memory_only ? "memory only"
                                             : "no usable core")};
  if (first) add_devices(machine, numa, node);
  return node;
}

bool belongs(const Machine& machine, int numa, int package) {
  const auto here = [&](const Core& core) { return core.numa == numa && core.package == package; };
  return machine.numa[numa].package == package || std::any_of(machine.cores.begin(), machine.cores.end(), here);
}

// Memory of the whole machine, such as over CXL, has no package to hang under.
bool homeless(const Machine& machine, int numa) {
  for (std::size_t package = 0; package < machine.packages.size(); ++package)
    if (belongs(machine, numa, static_cast<int>(package))) return false;
  return true;
}

std::string headline(const Machine& machine) {
  std::vector<std::string> facts;
  if (!machine.cpu_model.empty()) facts.push_back(machine.cpu_model);
  const std::size_t threads = all_cpus(machine).size();
  facts.push_back(counted(machine.cores.size(), "core"));
  if (threads != machine.cores.size()) facts.back() += fmt::format(" ({} hardware threads)", threads);
  facts.push_back(format_bytes(memory_bytes(machine)));
  return fmt::format("{}: {}", machine.hostname.empty() ? "machine" : machine.hostname, fmt::join(facts, ", "));
}

void add_limits(const Machine& machine, Node& root) {
  std::vector<std::string> limits;
  if (machine.limits.cpu_quota) limits.push_back(fmt::format("CPU time of {:.3g} cores", *machine.limits.cpu_quota));
  if (machine.limits.memory_bytes) limits.push_back(format_bytes(*machine.limits.memory_bytes));
  if (!limits.empty())
    root.children.push_back({fmt::format("limits of the control group: {}", fmt::join(limits, ", "))});
  if (machine.forbidden_cores > 0)
    root.children.push_back(
        {fmt::format("{} more that this process may not use", counted(machine.forbidden_cores, "core"))});
}

std::vector<std::string> table_row(const RankBinding& rank) {
  return {std::to_string(rank.rank),
          CpuSet(rank.cores).format(),
          rank.compute.format(),
          rank.engine == rank.compute ? "" : rank.engine.format(),
          std::to_string(rank.threads),
          CpuSet(rank.numa).format(),
          rank.network,
          rank.gpu ? std::to_string(*rank.gpu) : ""};
}

}  // namespace

std::string draw(const Machine& machine, const DrawOptions& options) {
  Node root{headline(machine)};
  for (int package = 0; package < static_cast<int>(machine.packages.size()); ++package) {
    Node node{fmt::format("package {}", machine.packages[package].index)};
    for (int numa = 0; numa < static_cast<int>(machine.numa.size()); ++numa)
      if (belongs(machine, numa, package)) node.children.push_back(numa_node(machine, numa, package));
    root.children.push_back(std::move(node));
  }
  for (int numa = 0; numa < static_cast<int>(machine.numa.size()); ++numa)
    if (homeless(machine, numa)) root.children.push_back(numa_node(machine, numa, 0));
  add_devices(machine, std::nullopt, root);
  add_limits(machine, root);
  return render_tree(root, options.ascii);
}

std::string summary(const BindingPlan& plan) {
  CpuSet cores;
  for (const RankBinding& rank : plan.ranks) cores |= CpuSet(rank.cores);
  const std::string how = plan.policy == Policy::None ? "not bound" : fmt::format("bound by {}", name(plan.policy));
  return fmt::format("{}, {}: {} each, on {}", counted(plan.ranks.size(), "rank"), how,
                     counted(static_cast<std::size_t>(plan.ranks.front().threads), "thread"),
                     counted(static_cast<std::size_t>(cores.size()), "core"));
}

std::string draw(const BindingPlan& plan) {
  Table table({{"rank", Align::Right},
               {"cores"},
               {"compute cpus"},
               {"engine cpus"},
               {"threads", Align::Right},
               {"NUMA"},
               {"network card"},
               {"GPU"}});
  for (const RankBinding& rank : plan.ranks) table.add(table_row(rank));
  return table.drop_empty_columns().text();
}

}  // namespace ronde::topology
