#include "ronde/topology/binding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/topology/detail/nearest.h"
#include "ronde/topology/detail/places.h"
#include "ronde/topology/detail/spread.h"
#include "ronde/topology/detail/warnings.h"

namespace ronde::topology {
namespace {

using detail::Share;
using detail::Unit;

// From here on a core for communication costs computation less than it gains: one of eight.
constexpr int kCoresWorthAnEngineCore = 8;

constexpr std::array<std::pair<Policy, std::string_view>, 6> kPolicies{{{Policy::Auto, "auto"},
                                                                        {Policy::None, "none"},
                                                                        {Policy::Core, "core"},
                                                                        {Policy::Numa, "numa"},
                                                                        {Policy::Socket, "socket"},
                                                                        {Policy::Gpu, "gpu"}}};

void refuse_nonsense(const Machine& machine, const BindingRequest& request) {
  if (request.ranks < 1) throw Error::bad_input("number of ranks must be at least 1, got {}", request.ranks);
  if (request.threads < 0)
    throw Error::bad_input("threads per rank must be at least 1, or 0 for as many as fit, got {}", request.threads);
  if (machine.cores.empty())
    throw Error::bad_input("cannot place ranks on {}: it has no usable core", machine.hostname);
}

Policy choose_policy(const Machine& machine, const BindingRequest& request) {
  const bool gpu_for_each = request.ranks <= static_cast<int>(machine.gpus.size());
  if (request.policy == Policy::Auto) return gpu_for_each ? Policy::Gpu : Policy::Core;
  if (request.policy == Policy::Gpu && machine.gpus.empty()) return Policy::Core;
  return request.policy;
}

// REQUIRES: the policy is not Auto.
std::vector<Share> make_shares(const Machine& machine, const std::vector<Unit>& units, Policy policy, int ranks) {
  switch (policy) {
    case Policy::Numa: return detail::spread_over_domains(machine, units, ranks);
    case Policy::Socket: return detail::spread_over_packages(machine, units, ranks);
    case Policy::Gpu:
      if (auto shares = detail::spread_over_gpus(machine, units, ranks)) return *shares;
      break;
    case Policy::None: {
      const std::vector<Share> whole = detail::spread_in_a_row(units, 1);
      return std::vector<Share>(ranks, Share{whole.front().units, ranks});
    }
    case Policy::Auto:
    case Policy::Core: break;
  }
  return detail::spread_over_cores(machine, units, ranks);
}

// A share as cpus, and how many threads it carries.
struct Seat {
  std::vector<CpuSet> cores;  // one set a unit; those for computing only
  CpuSet engine;              // empty: no place of its own
  int sharers = 1;
  bool one_place = false;  // threads may move about in it

  int room() const {
    int cpus = 0;
    for (const CpuSet& core : cores) cpus += core.size();
    return std::max(1, cpus / sharers);
  }
};

// Ranks that share their cores share them with their engines too.
Seat make_seat(const std::vector<Unit>& units, const Share& share, Policy policy, const BindingRequest& request) {
  Seat seat{.cores = {}, .engine = {}, .sharers = share.sharers};
  seat.one_place = share.sharers > 1 || policy == Policy::Numa || policy == Policy::Socket;
  for (const int unit : share.units) seat.cores.push_back(units[unit].cpus);
  const bool enough = static_cast<int>(seat.cores.size()) >= kCoresWorthAnEngineCore;
  if (request.engine_core && request.threads == 0 && share.sharers == 1 && enough) {
    seat.engine = seat.cores.back();
    seat.cores.pop_back();
  }
  return seat;
}

// Without a core kept free for it: one that the threads leave over, or a hardware thread that would be idle.
CpuSet find_engine(const Seat& seat, const CpuSet& compute, const CpuSet& spare, bool wanted) {
  if (!seat.engine.empty()) return seat.engine;
  if (!wanted || seat.sharers > 1) return compute;
  if ((seat.cores.back() & compute).empty()) return seat.cores.back();
  return spare.empty() ? compute : spare;
}

int threads_for_all(const Machine& machine, const BindingRequest& request, const std::vector<Seat>& seats) {
  if (request.threads > 0) return request.threads;
  int threads = seats.front().room();
  for (const Seat& seat : seats) threads = std::min(threads, seat.room());
  if (machine.limits.cpu_quota)
    threads = std::min(threads, static_cast<int>(std::floor(*machine.limits.cpu_quota / request.ranks)));
  return std::max(1, threads);
}

// As many cores as the threads need. Ranks that share get one large place, or all would crowd on its first cores.
std::vector<CpuSet> make_places(const Seat& seat, int threads) {
  std::vector<CpuSet> places;
  if (seat.one_place) {
    places.emplace_back();
    for (const CpuSet& core : seat.cores) places.front() |= core;
    return places;
  }
  const bool one_a_core = threads <= static_cast<int>(seat.cores.size());
  for (const CpuSet& core : seat.cores) {
    if (one_a_core)
      places.push_back(core);
    else
      for (const int cpu : core) places.push_back({cpu});
  }
  if (static_cast<int>(places.size()) > threads) places.resize(threads);
  return places;
}

RankBinding make_binding(const Machine& machine, const std::vector<Unit>& units, const Share& share, const Seat& seat,
                         int threads, const BindingRequest& request) {
  RankBinding binding;
  const std::vector<CpuSet> places = make_places(seat, threads);
  for (const CpuSet& place : places) binding.compute |= place;
  binding.engine = find_engine(seat, binding.compute, units[share.units.back()].spare, request.engine_core);
  binding.cpus = binding.engine;
  std::set<int> cores, domains;
  for (const int unit : share.units) {
    const Core& core = machine.cores[units[unit].core];
    binding.cpus |= units[unit].cpus;
    cores.insert(core.index);
    domains.insert(machine.numa[core.numa].index);
  }
  binding.cores.assign(cores.begin(), cores.end());
  binding.numa.assign(domains.begin(), domains.end());
  binding.threads = threads;
  if (request.policy == Policy::None)
    binding.cpus = binding.compute = binding.engine = all_cpus(machine);
  else
    binding.omp_places = detail::format_places(request.pin_threads ? places : std::vector{binding.cpus});
  return binding;
}

void add_devices(const Machine& machine, const std::vector<Unit>& units, const std::vector<Share>& shares,
                 BindingPlan& plan) {
  std::vector<std::vector<int>> domains;
  for (const Share& share : shares) {
    std::set<int> home;
    for (const int unit : share.units) home.insert(machine.cores[units[unit].core].numa);
    domains.emplace_back(home.begin(), home.end());
  }
  const auto networks = detail::nearest_networks(machine, domains);
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    if (!machine.gpus.empty()) plan.ranks[rank].gpu = static_cast<int>(rank % machine.gpus.size());
    if (networks[rank]) plan.ranks[rank].network = machine.networks[*networks[rank]].name;
  }
}

// Where domains are too small for the threads that the user wants, but the machine is not, ranks cross them.
bool must_cross_domains(const std::vector<Unit>& units, const std::vector<Share>& shares, Policy policy,
                        const BindingRequest& request) {
  if (policy != Policy::Core || request.threads == 0 || request.ranks > static_cast<int>(units.size())) return false;
  const int cpus_a_unit = units.front().cpus.size();
  const int needed = (request.threads + cpus_a_unit - 1) / cpus_a_unit;
  const auto too_small = [&](const Share& share) { return static_cast<int>(share.units.size()) < needed; };
  return static_cast<int>(units.size()) / request.ranks >= needed &&
         std::any_of(shares.begin(), shares.end(), too_small);
}

}  // namespace

std::string_view name(Policy policy) {
  for (const auto& [value, text] : kPolicies)
    if (value == policy) return text;
  return "unknown";
}

Policy parse_policy(std::string_view name) {
  std::string names;
  for (const auto& [value, text] : kPolicies) {
    if (text == name) return value;
    names += names.empty() ? "" : ", ";
    names += text;
  }
  throw Error::bad_input("unknown binding policy '{}'; use one of {}", name, names);
}

BindingPlan plan_binding(const Machine& machine, const BindingRequest& request) {
  refuse_nonsense(machine, request);
  BindingPlan plan;
  plan.policy = choose_policy(machine, request);
  const std::vector<Unit> units = detail::make_units(machine, request.ranks, request.hardware_threads);
  std::vector<Share> shares = make_shares(machine, units, plan.policy, request.ranks);
  if (must_cross_domains(units, shares, plan.policy, request)) shares = detail::spread_in_a_row(units, request.ranks);

  std::vector<Seat> seats;
  for (const Share& share : shares) seats.push_back(make_seat(units, share, plan.policy, request));
  const int threads = threads_for_all(machine, request, seats);
  for (int rank = 0; rank < request.ranks; ++rank) {
    plan.ranks.push_back(make_binding(machine, units, shares[rank], seats[rank], threads, request));
    plan.ranks.back().rank = rank;
  }
  add_devices(machine, units, shares, plan);
  plan.warnings = detail::warnings_about(machine, request, plan);
  return plan;
}

}  // namespace ronde::topology
