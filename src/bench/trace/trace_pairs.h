#pragma once

#include <functional>

namespace ronde::bench::detail {

// Two ways of doing the same thing, timed in turns: whatever else slows a machine for a while then slows both.
struct TracePairs {
  double plain_us = 0, recorded_us = 0;  // medians
  double ratio = 0;                      // recorded over plain, the median of that of each pair
};

// Which one of a pair begins changes from pair to pair. REQUIRES: pairs > 0. FAILS WITH: what the two fail with.
TracePairs take_pairs(int pairs, const std::function<double()>& plain, const std::function<double()>& recorded);

// How many rounds of `round_us` take about `turn_us`; 1 at least. Pure.
int rounds_for(double round_us, double turn_us);

}  // namespace ronde::bench::detail
