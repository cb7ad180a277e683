#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/bench/check/check_facts.h"

// Thin shells that look at this process and this node.
namespace ronde::bench::detail {

// Differs between any two machines. FAILS WITH: System.
std::string this_machine();

// Nothing is filled in about the start. FAILS WITH: System.
RankFacts gather_rank_facts(int local_rank);

// FAILS WITH: System.
NodeFacts gather_node_facts(const std::vector<std::pair<std::string, std::string>>& versions,
                            const std::vector<std::string>& command, const Environment& environment);

// Names and sizes of the libraries that are loaded: what is sent when the sums of two nodes differ.
std::vector<Trait> loaded_libraries();

// How long this process lives already, to the clock tick (10 ms). FAILS WITH: System.
std::chrono::nanoseconds age_of_process();

// The file's first 64 MiB and its size in a word; empty when it cannot be read.
std::string fingerprint(const std::string& file);

// The file that a shell would run for this word; empty when there is none.
std::string find_program(const std::string& word, const Environment& environment);

}  // namespace ronde::bench::detail
