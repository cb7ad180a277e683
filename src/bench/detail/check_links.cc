#include "ronde/bench/detail/check_links.h"

#include <algorithm>

namespace ronde::bench::detail {
namespace {

constexpr double kLeastShare = 0.5;       // of the best bandwidth
constexpr double kMostLatencyRatio = 3;   // of the best latency,
constexpr double kLatencySlack = 100e-6;  // and so much more: on a busy machine a process may wait for its turn

bool touches(const Pair& pair, int node) {
  return pair.first == node || pair.second == node;
}

Slowness sum_up(std::span<const LinkFigures> slow, int node) {
  Slowness sum{.node = node, .worst_bytes_per_s = slow.front().bytes_per_s};
  for (const LinkFigures& link : slow) {
    sum.pairs.push_back(link.pair);
    sum.worst_bytes_per_s = std::min(sum.worst_bytes_per_s, link.bytes_per_s);
    sum.worst_latency_s = std::max(sum.worst_latency_s, link.latency_s);
  }
  return sum;
}

}  // namespace

std::vector<std::vector<Pair>> rounds_of_pairs(int nodes, int most) {
  // The circle method: one stays, the others move on by one seat each round; who sits opposite is the partner.
  const int seats = nodes + nodes % 2;
  std::vector<std::vector<Pair>> rounds;
  for (int round = 0; round < std::min(seats - 1, most); ++round) {
    const auto sits = [&](int seat) { return seat == 0 ? seats - 1 : (round + seat) % (seats - 1); };
    std::vector<Pair> pairs;
    for (int seat = 0; seat < seats / 2; ++seat) {
      const auto pair = std::minmax({sits(seat), sits(seats - 1 - seat)});
      if (pair.second < nodes) pairs.push_back(pair);  // an odd number: one has no partner
    }
    rounds.push_back(std::move(pairs));
  }
  return rounds;
}

std::vector<Slowness> slow_links(std::span<const LinkFigures> links, int nodes) {
  if (links.empty()) return {};
  const double best_rate = std::ranges::max(links, {}, &LinkFigures::bytes_per_s).bytes_per_s;
  const double best_latency = std::ranges::min(links, {}, &LinkFigures::latency_s).latency_s;
  const auto is_slow = [&](const LinkFigures& link) {
    return link.bytes_per_s < kLeastShare * best_rate ||
           link.latency_s > kMostLatencyRatio * best_latency + kLatencySlack;
  };
  std::vector<LinkFigures> left;
  std::ranges::copy_if(links, std::back_inserter(left), is_slow);
  std::vector<Slowness> found;
  for (int node = 0; node < nodes; ++node) {
    const auto is_its = [&](const LinkFigures& link) { return touches(link.pair, node); };
    std::vector<LinkFigures> its;
    std::ranges::copy_if(left, std::back_inserter(its), is_its);
    // With one link alone nobody can tell which of its ends is at fault.
    if (its.size() < 2 || std::cmp_less(its.size(), std::ranges::count_if(links, is_its))) continue;
    found.push_back(sum_up(its, node));
    std::erase_if(left, is_its);
  }
  for (const LinkFigures& link : left) found.push_back(sum_up({&link, 1}, -1));
  return found;
}

}  // namespace ronde::bench::detail
