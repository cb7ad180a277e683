#include "ronde/topology/json.h"

#include <nlohmann/json.hpp>

namespace ronde::topology {
namespace {

using nlohmann::json;

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

// Positions in vectors become the numbers that the reader sees elsewhere.
json domain_number(const Machine& machine, const std::optional<int>& numa) {
  return numa ? json(machine.numa[*numa].index) : json(nullptr);
}

json package_number(const Machine& machine, const std::optional<int>& package) {
  return package ? json(machine.packages[*package].index) : json(nullptr);
}

json numa_json(const Machine& machine, const NumaDomain& domain) {
  return {{"index", domain.index},
          {"package", package_number(machine, domain.package)},
          {"memory_bytes", domain.memory_bytes},
          {"memory_only", domain.memory_only}};
}

json core_json(const Machine& machine, const Core& core) {
  return {{"index", core.index},
          {"package", package_number(machine, core.package)},
          {"numa", domain_number(machine, core.numa)},
          {"l3", or_null(core.l3)},
          {"cpus", core.cpus.format()}};
}

json gpu_json(const Machine& machine, const Gpu& gpu) {
  return {{"name", gpu.name}, {"bus_id", gpu.bus_id}, {"numa", domain_number(machine, gpu.numa)}};
}

json network_json(const Machine& machine, const NetworkCard& card) {
  return {{"name", card.name},
          {"rdma", card.rdma.empty() ? json(nullptr) : json(card.rdma)},
          {"kind", name(card.kind)},
          {"bus_id", card.bus_id},
          {"numa", domain_number(machine, card.numa)},
          {"gbit_per_s", or_null(card.gbit_per_s)},
          {"up", card.up}};
}

json rank_json(const RankBinding& rank) {
  return {{"rank", rank.rank},
          {"cpus", rank.cpus.format()},
          {"compute", rank.compute.format()},
          {"engine", rank.engine.format()},
          {"cores", rank.cores},
          {"numa", rank.numa},
          {"gpu", or_null(rank.gpu)},
          {"network", rank.network.empty() ? json(nullptr) : json(rank.network)},
          {"threads", rank.threads},
          {"omp_places", rank.omp_places}};
}

}  // namespace

json to_json(const Machine& machine) {
  const auto list = [&](const auto& parts, auto convert) {
    json array = json::array();
    for (const auto& part : parts) array.push_back(convert(machine, part));
    return array;
  };
  return {
      {"hostname", machine.hostname},
      {"cpu_model", machine.cpu_model},
      {"packages", list(machine.packages, [](const Machine&, const Package& package) { return json(package.index); })},
      {"numa", list(machine.numa, numa_json)},
      {"cores", list(machine.cores, core_json)},
      {"gpus", list(machine.gpus, gpu_json)},
      {"networks", list(machine.networks, network_json)},
      {"memory_bytes", memory_bytes(machine)},
      {"forbidden_cores", machine.forbidden_cores},
      {"limits",
       {{"cpu_quota", or_null(machine.limits.cpu_quota)}, {"memory_bytes", or_null(machine.limits.memory_bytes)}}}};
}

json to_json(const BindingPlan& plan) {
  json ranks = json::array();
  for (const RankBinding& rank : plan.ranks) ranks.push_back(rank_json(rank));
  return {{"policy", name(plan.policy)}, {"ranks", ranks}, {"warnings", plan.warnings}};
}

}  // namespace ronde::topology
