#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

// Which pairs of nodes `ronde run --check` measures, and which of them are slow.
namespace ronde::bench::detail {

using Pair = std::pair<int, int>;  // of nodes, the lower first

// Rounds in which no node is in two pairs, so that all pairs of a round can be measured at once: after nodes - 1 rounds
// (one more for an odd number) each pair has had its turn. At most `most` rounds: of very many nodes each then meets
// only some others.
std::vector<std::vector<Pair>> rounds_of_pairs(int nodes, int most);

struct LinkFigures {
  Pair pair;
  double latency_s = 0.0;
  double bytes_per_s = 0.0;
};

// One slow link, or all links of a node.
struct Slowness {
  enum class Kind { Narrow, Late };  // little bandwidth; much latency
  Kind kind = Kind::Narrow;
  std::vector<Pair> pairs = {};
  int node = -1;       // when it is this one's fault: all its links are slow
  double worst = 0.0;  // of these links, in bytes/s or seconds
  double best = 0.0;   // of all links
};

// First those that have less than half the bandwidth of the best, then others that have far more latency than the best.
std::vector<Slowness> slow_links(std::span<const LinkFigures> links, int nodes);

}  // namespace ronde::bench::detail
