// The table and the line about the start, of what the check has found.
#include <algorithm>
#include <cmath>

#include "ronde/base/text/format.h"
#include "ronde/base/text/table.h"
#include "ronde/base/text/units.h"
#include "ronde/bench/check/check_judge.h"
#include "ronde/bench/check/check_words.h"

namespace ronde::bench::detail {
namespace {

// The worst of a node's links by some measure, with the node at its other end; "-" where it has none.
template <class Worse, class Text>
std::string worst_link(const CheckResults& results, int node, Worse worse, Text text) {
  const LinkFigures* worst = nullptr;
  for (const LinkFigures& link : results.links)
    if ((link.pair.first == node || link.pair.second == node) && (!worst || worse(link, *worst))) worst = &link;
  if (!worst) return "-";
  const int other = worst->pair.first == node ? worst->pair.second : worst->pair.first;
  return fmt::format("{} ({})", text(*worst), results.nodes.names[static_cast<std::size_t>(other)]);
}

std::string latency_cell(const CheckResults& results, int node) {
  return worst_link(
      results, node, [](const auto& a, const auto& b) { return a.latency_s > b.latency_s; },
      [](const auto& link) { return duration_text(link.latency_s); });
}

std::string rate_cell(const CheckResults& results, int node) {
  return worst_link(
      results, node, [](const auto& a, const auto& b) { return a.bytes_per_s < b.bytes_per_s; },
      [](const auto& link) { return rate_text(link.bytes_per_s); });
}

std::string gpu_cell(const CheckResults& results, std::span<const int> ranks) {
  std::size_t count = 0;
  std::string name;
  for (const int rank : ranks)
    if (const auto& gpu = results.ranks[static_cast<std::size_t>(rank)].gpu) {
      ++count;
      name = gpu->name;
    }
  return count == 0 ? "-" : fmt::format("{} x {}", count, name);
}

std::string clock_cell(const CheckResults& results, std::size_t node) {
  if (node == 0 || node >= results.clock_offset_s.size()) return "-";
  const double offset = results.clock_offset_s[node];
  return fmt::format("{}{}", offset < 0 ? "-" : "+", duration_text(std::abs(offset)));
}

std::string ranks_cell(std::span<const int> ranks) {
  const std::string list = rank_list(ranks);
  return list.substr(list.find(' ') + 1);
}

double total(const StartTimes& start) {
  return start.launch.value_or(0.0) + start.load + start.meet + start.engine;
}

std::string start_cell(const CheckResults& results, std::span<const int> ranks) {
  double longest = 0.0;
  for (const int rank : ranks)
    if (static_cast<std::size_t>(rank) < results.start.size())
      longest = std::max(longest, total(results.start[static_cast<std::size_t>(rank)]));
  return longest == 0.0 ? "-" : duration_text(longest);
}

}  // namespace

std::string check_table(const CheckResults& results) {
  Table table({{"node"},
               {"ranks"},
               {"cores", Align::Right},
               {"memory free", Align::Right},
               {"GPUs"},
               {"clock", Align::Right},
               {"most latency"},
               {"least bandwidth"},
               {"start-up", Align::Right}});
  for (std::size_t node = 0; node < results.node_facts.size(); ++node) {
    const NodeFacts& facts = results.node_facts[node];
    const auto& ranks = results.nodes.ranks[node];
    const int number = static_cast<int>(node);
    table.add({results.nodes.names[node], ranks_cell(ranks), fmt::format("{}", facts.cores),
               fmt::format("{} of {}", format_bytes(facts.memory_free), format_bytes(facts.memory_total)),
               gpu_cell(results, ranks), clock_cell(results, node), latency_cell(results, number),
               rate_cell(results, number), start_cell(results, ranks)});
  }
  return table.text();
}

std::string start_text(const CheckResults& results) {
  if (results.start.empty()) return {};
  const auto slowest = std::ranges::max_element(results.start, {}, total);
  const auto rank = static_cast<std::size_t>(slowest - results.start.begin());
  const std::string launch =
      slowest->launch ? fmt::format("{} until its process began, ", duration_text(*slowest->launch)) : "";
  return fmt::format(
      "start-up took at most {} (rank {} on {}): {}{} loading libraries, {} connecting to the other ranks, {} starting "
      "the engine",
      duration_text(total(*slowest)), rank, results.nodes.names[static_cast<std::size_t>(results.nodes.of_rank[rank])],
      launch, duration_text(slowest->load), duration_text(slowest->meet), duration_text(slowest->engine));
}

}  // namespace ronde::bench::detail
