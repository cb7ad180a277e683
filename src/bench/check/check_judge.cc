#include "ronde/bench/check/check_judge.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/bench/check/check_words.h"

namespace ronde::bench::detail {
namespace {

constexpr double kMostClockOffset = 1.0;      // seconds; programs that compare times of files care
constexpr double kLeastFreeShare = 0.25;      // of a node's memory
constexpr double kMostMemoryDeviation = 0.1;  // of what most nodes have
constexpr double kLeastFreeGpuShare = 0.85;   // ranks that look at a GPU take some of it themselves

using Findings = std::vector<Finding>;

std::string quantity(const std::string& value) {
  return value.empty() ? "none" : value;
}

// "node3 has 2.12, the other 7 nodes 2.13", or every value with its nodes where no value has most of them.
std::string tell_apart(const Trait& trait, const std::map<std::string, std::vector<int>>& nodes_with,
                       const Nodes& nodes) {
  const auto size = [](const auto& entry) { return entry.second.size(); };
  const auto& usual = *std::ranges::max_element(nodes_with, {}, size);
  const std::size_t others = nodes.names.size() - usual.second.size();
  std::vector<std::string> parts;
  for (const auto& [value, with] : nodes_with)
    if (value != usual.first || usual.second.size() <= others)
      parts.push_back(fmt::format("{} on {}", quantity(value), node_list(with, nodes)));
  if (usual.second.size() > others)
    return fmt::format("{} differs: {}, but {} on the other {}", trait.what, join(parts, ", "), quantity(usual.first),
                       counted(usual.second.size(), "node"));
  return fmt::format("{} differs: {}", trait.what, join(parts, ", "));
}

// Each once, in the order in which they are told: a node may lack what another one has.
std::vector<Trait> all_traits(const CheckResults& results) {
  std::vector<Trait> all;
  for (const NodeFacts& facts : results.node_facts)
    for (const Trait& trait : facts.traits)
      if (std::ranges::find(all, trait.what, &Trait::what) == all.end()) all.push_back(trait);
  return all;
}

void judge_traits(const CheckResults& results, Findings& findings) {
  for (const Trait& trait : all_traits(results)) {
    std::map<std::string, std::vector<int>> nodes_with;
    for (std::size_t node = 0; node < results.node_facts.size(); ++node) {
      const auto& traits = results.node_facts[node].traits;
      const auto found = std::ranges::find(traits, trait.what, &Trait::what);
      nodes_with[found == traits.end() ? "" : found->value].push_back(static_cast<int>(node));
    }
    if (trait.needed && nodes_with.size() == 1 && nodes_with.contains(""))
      findings.push_back({true, trait.what + " is missing on all nodes"});
    if (nodes_with.size() > 1) findings.push_back({trait.matters, tell_apart(trait, nodes_with, results.nodes)});
  }
}

void judge_memory(const CheckResults& results, Findings& findings) {
  std::vector<std::uint64_t> totals;
  for (const NodeFacts& facts : results.node_facts) totals.push_back(facts.memory_total);
  std::ranges::nth_element(totals, totals.begin() + static_cast<std::ptrdiff_t>(totals.size() / 2));
  const double usual = totals.empty() ? 0.0 : static_cast<double>(totals[totals.size() / 2]);
  for (std::size_t node = 0; node < results.node_facts.size(); ++node) {
    const NodeFacts& facts = results.node_facts[node];
    const auto total = static_cast<double>(facts.memory_total), free = static_cast<double>(facts.memory_free);
    if (std::abs(total - usual) > kMostMemoryDeviation * usual)
      findings.push_back(
          {true, fmt::format("{} has {} of memory, but most nodes have {}", results.nodes.names[node],
                             format_bytes(facts.memory_total), format_bytes(static_cast<std::uint64_t>(usual)))});
    if (free < kLeastFreeShare * total)
      findings.push_back({true, fmt::format("only {} of {} memory is free on {}: something else runs there",
                                            format_bytes(facts.memory_free), format_bytes(facts.memory_total),
                                            results.nodes.names[node])});
  }
}

void judge_gpus(const CheckResults& results, Findings& findings) {
  const bool any = std::ranges::any_of(results.ranks, [](const RankFacts& facts) { return facts.gpu.has_value(); });
  if (!any) return;
  for (std::size_t node = 0; node < results.nodes.ranks.size(); ++node) {
    const std::string& name = results.nodes.names[node];
    std::map<std::string, std::vector<int>> users;
    for (const int rank : results.nodes.ranks[node]) {
      const RankFacts& facts = results.ranks[static_cast<std::size_t>(rank)];
      if (!facts.gpu) {
        findings.push_back(
            {true, fmt::format("rank {} on {} sees no GPU, but other ranks do: {}", rank, name, facts.no_gpu)});
        continue;
      }
      auto& ranks = users[facts.gpu->bus_id];
      ranks.push_back(rank);
      const auto total = static_cast<double>(facts.gpu->total), free = static_cast<double>(facts.gpu->free);
      if (ranks.size() == 1 && free < kLeastFreeGpuShare * total)
        findings.push_back(
            {true, fmt::format("GPU {} on {} has only {} of {} free: another process is on it", facts.gpu->bus_id, name,
                               format_bytes(facts.gpu->free), format_bytes(facts.gpu->total))});
    }
    for (const auto& [bus_id, ranks] : users)
      if (ranks.size() > 1)
        findings.push_back({true, fmt::format("{} share GPU {} on {}", rank_list(ranks), bus_id, name)});
  }
}

void judge_clocks(const CheckResults& results, Findings& findings) {
  for (std::size_t node = 0; node < results.clock_offset_s.size(); ++node)
    if (const double offset = results.clock_offset_s[node]; std::abs(offset) > kMostClockOffset)
      findings.push_back({true, fmt::format("the clock of {} is {} {} that of {}", results.nodes.names[node],
                                            duration_text(std::abs(offset)), offset > 0 ? "ahead of" : "behind",
                                            results.nodes.names.front())});
}

void judge_links(const CheckResults& results, Findings& findings) {
  const auto& names = results.nodes.names;
  const auto name = [&](int node) { return names[static_cast<std::size_t>(node)]; };
  for (const Slowness& slow : slow_links(results.links, static_cast<int>(names.size()))) {
    const auto& [first, second] = slow.pairs.front();
    const std::string who = slow.node >= 0 ? fmt::format("every link of {}", name(slow.node))
                                           : fmt::format("the link between {} and {}", name(first), name(second));
    const std::string what =
        slow.kind == Slowness::Kind::Narrow
            ? fmt::format("is slow: {}, but the best reaches {}", rate_text(slow.worst), rate_text(slow.best))
            : fmt::format("has a high latency: {}, but the best takes {}", duration_text(slow.worst),
                          duration_text(slow.best));
    findings.push_back({true, fmt::format("{} {}", who, what)});
  }
}

}  // namespace

std::vector<Finding> judge(const CheckResults& results) {
  Findings findings;
  if (!results.failure.empty()) findings.push_back({true, "the ranks cannot work together: " + results.failure});
  if (!results.wrong_ranks.empty())
    findings.push_back({true, fmt::format("an allreduce gave wrong values on {}", rank_list(results.wrong_ranks))});
  judge_traits(results, findings);
  judge_gpus(results, findings);
  judge_links(results, findings);
  judge_memory(results, findings);
  judge_clocks(results, findings);
  std::ranges::stable_partition(findings, &Finding::wrong);
  return findings;
}

std::string verdict(const CheckResults& results, const std::vector<Finding>& findings) {
  const auto wrong = static_cast<std::size_t>(std::ranges::count_if(findings, &Finding::wrong));
  const std::string job =
      fmt::format("{} on {}", counted(results.ranks.size(), "rank"), counted(results.nodes.names.size(), "node"));
  if (wrong == 0) return fmt::format("check: all is well with {}", job);
  if (wrong == 1) return fmt::format("check: one thing is wrong with {}: {}", job, findings.front().text);
  return fmt::format("check: {} things are wrong with {}; first: {}", wrong, job, findings.front().text);
}

}  // namespace ronde::bench::detail
