#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ronde/base/math/cost_fit.h"

namespace ronde::bench::detail {

// Which of several algorithms is the quickest for so many bytes between so many ranks on so many nodes, by what was
// measured. Pure; a plain value.
//
//   CostModel model;
//   model.add({.ranks = 8, .nodes = 2}, "ring", fit_cost(points_of_ring));
//   model.add({.ranks = 8, .nodes = 2}, "direct", fit_cost(points_of_direct));
//   model.choose(1 << 20, {.ranks = 8, .nodes = 2});  // "ring"
class CostModel {
 public:
  struct Place {
    int ranks = 1;
    int nodes = 1;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct Algorithm {
    std::string name;
    CostFit fit;
  };
  // An algorithm is the quickest from here on, up to the next one.
  struct Range {
    double from_bytes = 0;
    std::string algorithm;
  };

  // Replaces what was known of this algorithm in this place.
  void add(const Place& place, std::string algorithm, const CostFit& fit);

  // Where nothing was measured in the place itself: by the one that is most like it, first in the number of nodes and
  // then in that of ranks. Of equals the one that was added first. Empty when nothing was ever measured.
  std::string choose(std::size_t bytes, const Place& place) const;

  // What choose() says, by size. REQUIRES: as choose().
  std::vector<Range> ranges(const Place& place) const;

  std::vector<Place> places() const;
  std::vector<Algorithm> algorithms(const Place& place) const;

  // For people, a line a range: ranks, nodes, sizes, algorithm, latency and bandwidth.
  std::string text() const;

 private:
  struct Entry {
    Place place;
    std::vector<Algorithm> algorithms;
  };
  const Entry* nearest(const Place& place) const;

  std::vector<Entry> entries_;  // in order of nodes and ranks
};

}  // namespace ronde::bench::detail
