#pragma once

#include <span>
#include <string>

#include "ronde/bench/check/check_facts.h"

// How the check speaks of ranks, nodes, times and rates.
namespace ronde::bench::detail {

std::string rank_list(std::span<const int> ranks);                        // "rank 3", "ranks 0-3, 7"
std::string node_list(std::span<const int> numbers, const Nodes& nodes);  // "node3", "b1, b2 and 14 more"
std::string duration_text(double seconds);                                // "31 us"
std::string rate_text(double bytes_per_s);                                // "118 MB/s": as networks are sold

}  // namespace ronde::bench::detail
