#include "ronde/topology/machine.h"

#include <numeric>
#include <set>
#include <utility>

#include "ronde/base/text/text.h"

namespace ronde::topology {

namespace {

constexpr int kGone = -1;

// Removes what `keep` does not name from `parts`. Returns where each of them now stands, or kGone.
template <class Part>
std::vector<int> keep_only(std::vector<Part>& parts, const std::set<int>& keep) {
  std::vector<int> now_at(parts.size(), kGone);
  std::vector<Part> kept;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!keep.contains(static_cast<int>(i))) continue;
    now_at[i] = static_cast<int>(kept.size());
    kept.push_back(parts[i]);
  }
  parts = std::move(kept);
  return now_at;
}

std::set<int> domains_in_use(const Machine& machine) {
  std::set<int> used;
  for (const Core& core : machine.cores) used.insert(core.numa);
  for (const Gpu& gpu : machine.gpus) used.insert(gpu.numa.value_or(kGone));
  for (const NetworkCard& card : machine.networks) used.insert(card.numa.value_or(kGone));
  for (std::size_t i = 0; i < machine.numa.size(); ++i)
    if (machine.numa[i].memory_only) used.insert(static_cast<int>(i));
  return used;
}

std::set<int> packages_in_use(const Machine& machine) {
  std::set<int> used;
  for (const Core& core : machine.cores) used.insert(core.package);
  for (const NumaDomain& domain : machine.numa) used.insert(domain.package.value_or(kGone));
  return used;
}

void drop_unused_parts(Machine& machine) {
  const std::vector<int> domain_at = keep_only(machine.numa, domains_in_use(machine));
  const std::vector<int> package_at = keep_only(machine.packages, packages_in_use(machine));
  for (Core& core : machine.cores) {
    core.numa = domain_at[core.numa];
    core.package = package_at[core.package];
  }
  for (NumaDomain& domain : machine.numa)
    if (domain.package) domain.package = package_at[*domain.package];
  for (Gpu& gpu : machine.gpus)
    if (gpu.numa) gpu.numa = domain_at[*gpu.numa];
  for (NetworkCard& card : machine.networks)
    if (card.numa) card.numa = domain_at[*card.numa];
}

// The GPU that a word of CUDA_VISIBLE_DEVICES means. A UUID may be shortened to its beginning.
std::optional<Gpu> gpu_named(const std::vector<Gpu>& gpus, std::string_view word) {
  if (const auto number = parse_number<int>(word)) {
    if (*number < 0 || *number >= static_cast<int>(gpus.size())) return std::nullopt;
    return gpus[*number];
  }
  if (word.empty()) return std::nullopt;
  for (const Gpu& gpu : gpus)
    if (gpu.uuid.starts_with(word)) return gpu;
  return Gpu{.name = std::string(word), .bus_id = "unknown bus", .uuid = std::string(word)};
}

}  // namespace

Machine restricted(Machine machine, const CpuSet& cpus) {
  for (Core& core : machine.cores) core.cpus = core.cpus & cpus;
  machine.forbidden_cores +=
      static_cast<int>(std::erase_if(machine.cores, [](const Core& core) { return core.cpus.empty(); }));
  drop_unused_parts(machine);
  return machine;
}

Machine with_visible_gpus(Machine machine, std::string_view list) {
  std::vector<Gpu> visible;
  for (const std::string_view word : split(list, ',')) {
    auto gpu = gpu_named(machine.gpus, trim(word));
    if (!gpu) break;
    visible.push_back(std::move(*gpu));
  }
  machine.gpus = std::move(visible);
  return machine;
}

CpuSet all_cpus(const Machine& machine) {
  std::vector<int> cpus;
  for (const Core& core : machine.cores) cpus.insert(cpus.end(), core.cpus.begin(), core.cpus.end());
  return CpuSet(std::move(cpus));
}

std::uint64_t memory_bytes(const Machine& machine) {
  return std::accumulate(machine.numa.begin(), machine.numa.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const NumaDomain& domain) { return sum + domain.memory_bytes; });
}

std::string_view name(NetworkCard::Kind kind) {
  switch (kind) {
    case NetworkCard::Kind::Ethernet: return "Ethernet";
    case NetworkCard::Kind::InfiniBand: return "InfiniBand";
    case NetworkCard::Kind::OmniPath: return "Omni-Path";
    case NetworkCard::Kind::Slingshot: return "Slingshot";
  }
  return "unknown";
}

}  // namespace ronde::topology
