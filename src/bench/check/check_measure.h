#pragma once

#include <span>
#include <vector>

#include "ronde/bench/check/check_facts.h"
#include "ronde/bench/check/check_links.h"
#include "ronde/comm/engine.h"

// What the ranks of `ronde run --check` try together. All of them call each function; each gives the same answer on
// every rank. FAIL WITH: whatever the engine fails with.
namespace ronde::bench::detail {

// Ranks on which a sum, small or large, of whole or broken numbers, was wrong.
std::vector<int> try_allreduce(const comm::Engine& engine);

// By node, in seconds: how far the clock of its first rank is ahead of the first rank's.
std::vector<double> measure_clocks(const comm::Engine& engine, const Nodes& nodes);

// Between the first ranks of nodes; links that share no node at the same time.
std::vector<LinkFigures> measure_links(const comm::Engine& engine, const Nodes& nodes);

// The start of every rank, from its own.
std::vector<StartTimes> share_start(const comm::Engine& engine, const StartTimes& mine);

}  // namespace ronde::bench::detail
