#include "ronde/topology/detail/spread.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace ronde::topology::detail {
namespace {

using Units = std::vector<int>;

struct Domain {
  int numa = 0;
  Units units;
};
using PackageTree = std::vector<Domain>;  // the domains of one package that hold units

// Package by package, domain by domain, in the machine's order.
std::vector<PackageTree> make_tree(const Machine& machine, const std::vector<Unit>& units) {
  std::map<int, std::map<int, Units>> sorted;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const Core& core = machine.cores[units[i].core];
    sorted[core.package][core.numa].push_back(static_cast<int>(i));
  }
  std::vector<PackageTree> tree;
  for (auto& [package, domains] : sorted) {
    tree.emplace_back();
    for (auto& [numa, list] : domains) tree.back().push_back({numa, std::move(list)});
  }
  return tree;
}

void append(Units& to, const Units& from) {
  to.insert(to.end(), from.begin(), from.end());
}

Units all_units(const PackageTree& package) {
  Units all;
  for (const Domain& domain : package) append(all, domain.units);
  return all;
}

std::vector<Units> lists_of(const PackageTree& package) {
  std::vector<Units> lists;
  for (const Domain& domain : package) lists.push_back(domain.units);
  return lists;
}

std::vector<Units> lists_of(const std::vector<PackageTree>& tree) {
  std::vector<Units> lists;
  for (const PackageTree& package : tree) lists.push_back(all_units(package));
  return lists;
}

std::vector<int> sizes(const std::vector<Units>& parts) {
  std::vector<int> result;
  for (const Units& part : parts) result.push_back(static_cast<int>(part.size()));
  return result;
}

// Contiguous pieces, the first ones larger by one where it does not divide; with too many ranks they take turns.
void split(const Units& units, int ranks, std::vector<Share>& shares) {
  const int count = static_cast<int>(units.size());
  auto next = units.begin();
  for (int rank = 0; rank < ranks; ++rank) {
    if (ranks > count) {
      const int sharers = ranks / count + (rank % count < ranks % count);
      shares.push_back({{units[rank % count]}, sharers});
      continue;
    }
    const auto end = next + count / ranks + (rank < count % ranks);
    shares.push_back({Units(next, end), 1});
    next = end;
  }
}

// Fewer ranks than parts: each gets the same number of whole, neighbouring parts.
void group(const std::vector<Units>& parts, int ranks, std::vector<Share>& shares) {
  const int count = static_cast<int>(parts.size());
  for (int rank = 0; rank < ranks; ++rank) {
    Share share;
    const int first = rank * count / ranks;
    for (int part = first; part < first + count / ranks; ++part) append(share.units, parts[part]);
    shares.push_back(std::move(share));
  }
}

// How many ranks each part holds; with fewer ranks than parts they stand as far apart as can be.
std::vector<int> occupy(const std::vector<Units>& parts, int ranks) {
  const int count = static_cast<int>(parts.size());
  if (ranks >= count) return apportion(sizes(parts), ranks);
  std::vector<int> counts(count);
  for (int rank = 0; rank < ranks; ++rank) counts[rank * count / ranks] = 1;
  return counts;
}

void share_whole(const std::vector<Units>& parts, int ranks, std::vector<Share>& shares) {
  const std::vector<int> counts = occupy(parts, ranks);
  for (std::size_t part = 0; part < parts.size(); ++part)
    shares.insert(shares.end(), counts[part], Share{parts[part], counts[part]});
}

// The domain with units that a GPU is nearest to: its own, or the first of its package.
std::optional<int> home_of(const Machine& machine, const std::vector<PackageTree>& tree, const Gpu& gpu) {
  if (!gpu.numa) return std::nullopt;
  for (const PackageTree& package : tree)
    for (const Domain& domain : package)
      if (domain.numa == *gpu.numa) return domain.numa;
  const std::optional<int> wanted = machine.numa[*gpu.numa].package;
  for (const PackageTree& package : tree)
    for (const Domain& domain : package)
      if (wanted && machine.numa[domain.numa].package == wanted) return domain.numa;
  return std::nullopt;
}

// Units by home domain. A domain without a rank gives its cores to the home before it, else after it, in its package.
std::map<int, Units> gather_homes(const std::vector<PackageTree>& tree,
                                  const std::map<int, std::vector<int>>& ranks_at) {
  std::map<int, Units> homes;
  for (const PackageTree& package : tree) {
    const auto is_home = [&](const Domain& domain) { return ranks_at.contains(domain.numa); };
    const auto first = std::find_if(package.begin(), package.end(), is_home);
    if (first == package.end()) continue;
    for (const Domain& domain : package)
      if (is_home(domain)) append(homes[domain.numa], domain.units);
    int home = first->numa;
    for (const Domain& domain : package) {
      if (is_home(domain))
        home = domain.numa;
      else
        append(homes[home], domain.units);
    }
  }
  return homes;
}

}  // namespace

std::vector<Unit> make_units(const Machine& machine, int ranks, bool hardware_threads) {
  const bool split_cores = hardware_threads && ranks > static_cast<int>(machine.cores.size());
  std::vector<Unit> units;
  for (int core = 0; core < static_cast<int>(machine.cores.size()); ++core) {
    const CpuSet& cpus = machine.cores[core].cpus;
    if (split_cores) {
      for (const int cpu : cpus) units.push_back({core, {cpu}, {}});
    } else if (hardware_threads) {
      units.push_back({core, cpus, {}});
    } else {
      units.push_back({core, {cpus.front()}, cpus - CpuSet{cpus.front()}});
    }
  }
  return units;
}

std::vector<int> apportion(const std::vector<int>& weights, int ranks) {
  std::vector<int> counts(weights.size());
  for (int rank = 0; rank < ranks; ++rank) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < weights.size(); ++i) {
      // What each of its ranks would have with one rank more, multiplied out; of equals, the emptier.
      const int here = weights[i] * (counts[best] + 1);
      const int there = weights[best] * (counts[i] + 1);
      if (here > there || (here == there && counts[i] < counts[best])) best = i;
    }
    ++counts[best];
  }
  return counts;
}

std::vector<Share> spread_over_cores(const Machine& machine, const std::vector<Unit>& units, int ranks) {
  const std::vector<PackageTree> tree = make_tree(machine, units);
  const std::vector<Units> packages = lists_of(tree);
  std::vector<Share> shares;
  if (ranks < static_cast<int>(packages.size())) {
    group(packages, ranks, shares);
    return shares;
  }
  const std::vector<int> counts = apportion(sizes(packages), ranks);
  for (std::size_t p = 0; p < tree.size(); ++p) {
    const std::vector<Units> domains = lists_of(tree[p]);
    if (counts[p] < static_cast<int>(domains.size())) {
      group(domains, counts[p], shares);
      continue;
    }
    const std::vector<int> inner = apportion(sizes(domains), counts[p]);
    for (std::size_t d = 0; d < domains.size(); ++d) split(domains[d], inner[d], shares);
  }
  return shares;
}

std::vector<Share> spread_in_a_row(const std::vector<Unit>& units, int ranks) {
  Units all(units.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<Share> shares;
  split(all, ranks, shares);
  return shares;
}

std::vector<Share> spread_over_domains(const Machine& machine, const std::vector<Unit>& units, int ranks) {
  const std::vector<PackageTree> tree = make_tree(machine, units);
  const std::vector<int> counts = occupy(lists_of(tree), ranks);
  std::vector<Share> shares;
  for (std::size_t p = 0; p < tree.size(); ++p) share_whole(lists_of(tree[p]), counts[p], shares);
  return shares;
}

std::vector<Share> spread_over_packages(const Machine& machine, const std::vector<Unit>& units, int ranks) {
  std::vector<Share> shares;
  share_whole(lists_of(make_tree(machine, units)), ranks, shares);
  return shares;
}

std::optional<std::vector<Share>> spread_over_gpus(const Machine& machine, const std::vector<Unit>& units, int ranks) {
  const std::vector<PackageTree> tree = make_tree(machine, units);
  std::map<int, std::vector<int>> ranks_at;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::optional<int> home = home_of(machine, tree, machine.gpus[rank % machine.gpus.size()]);
    if (!home) return std::nullopt;
    ranks_at[*home].push_back(rank);
  }
  const std::map<int, Units> homes = gather_homes(tree, ranks_at);
  std::vector<Share> shares(ranks);
  for (const auto& [home, residents] : ranks_at) {
    std::vector<Share> pieces;
    split(homes.at(home), static_cast<int>(residents.size()), pieces);
    for (std::size_t i = 0; i < residents.size(); ++i) shares[residents[i]] = std::move(pieces[i]);
  }
  return shares;
}

}  // namespace ronde::topology::detail
