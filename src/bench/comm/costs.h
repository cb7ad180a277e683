#pragma once

#include <vector>

#include "ronde/bench/bench.h"

namespace ronde::bench::detail {

// What the rows of an allreduce benchmark say about latency and bandwidth. Every column NAME_us is a contestant;
// "median_us" is Ronde's engine, "link_us" its link alone. Pure.
//
//   fits    by type, memory and contestant: the fitted latency and bandwidth, and how far off the fit usually is
//   table   by type, memory and size: which of our algorithms is the quickest by these fits
//
// Nothing from rows of one size only.
std::vector<Section> cost_sections(const nlohmann::ordered_json& rows, int nodes);

}  // namespace ronde::bench::detail
