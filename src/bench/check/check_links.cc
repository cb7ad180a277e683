#include "ronde/bench/check/check_links.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ronde::bench::detail {
namespace {

constexpr double kLeastShare = 0.5;       // of the best bandwidth
constexpr double kMostLatencyRatio = 4;   // of the best latency,
constexpr double kLatencySlack = 200e-6;  // and so much more: on a busy machine a process may wait for its turn

bool touches(const Pair& pair, int node) {
  return pair.first == node || pair.second == node;
}

double figure(const LinkFigures& link, Slowness::Kind kind) {
  return kind == Slowness::Kind::Late ? link.latency_s : link.bytes_per_s;
}

bool is_slow(const LinkFigures& link, Slowness::Kind kind, double best) {
  if (kind == Slowness::Kind::Late) return link.latency_s > kMostLatencyRatio * best + kLatencySlack;
  return link.bytes_per_s < kLeastShare * best;
}

double extreme(std::span<const LinkFigures> links, Slowness::Kind kind, bool largest) {
  double found = figure(links.front(), kind);
  for (const LinkFigures& link : links)
    found = largest ? std::max(found, figure(link, kind)) : std::min(found, figure(link, kind));
  return found;
}

// Of the links that are slow in one way: nodes whose links all are, then links by themselves.
std::vector<Slowness> slow_in_one_way(std::span<const LinkFigures> links, int nodes, Slowness::Kind kind) {
  const bool late = kind == Slowness::Kind::Late;
  const double best = extreme(links, kind, !late);
  std::vector<LinkFigures> left;
  std::ranges::copy_if(links, std::back_inserter(left), [&](const auto& link) { return is_slow(link, kind, best); });
  std::vector<Slowness> found;
  const auto add = [&](std::span<const LinkFigures> slow, int node) {
    Slowness sum{.kind = kind, .node = node, .worst = extreme(slow, kind, late), .best = best};
    for (const LinkFigures& link : slow) sum.pairs.push_back(link.pair);
    found.push_back(std::move(sum));
  };
  for (int node = 0; node < nodes; ++node) {
    const auto is_its = [&](const LinkFigures& link) { return touches(link.pair, node); };
    std::vector<LinkFigures> its;
    std::ranges::copy_if(left, std::back_inserter(its), is_its);
    // With one link alone nobody can tell which of its ends is at fault.
    if (its.size() < 2 || std::cmp_less(its.size(), std::ranges::count_if(links, is_its))) continue;
    add(its, node);
    std::erase_if(left, is_its);
  }
  for (const LinkFigures& link : left) add({&link, 1}, -1);
  return found;
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
  std::vector<Slowness> found = slow_in_one_way(links, nodes, Slowness::Kind::Narrow);
  std::vector<LinkFigures> wide;  // a narrow link is late as well as soon as there is something on it
  std::ranges::copy_if(links, std::back_inserter(wide), [&](const LinkFigures& link) {
    return std::ranges::none_of(
        found, [&](const Slowness& slow) { return std::ranges::find(slow.pairs, link.pair) != slow.pairs.end(); });
  });
  for (Slowness& slow : slow_in_one_way(wide, nodes, Slowness::Kind::Late)) found.push_back(std::move(slow));
  return found;
}

}  // namespace ronde::bench::detail
