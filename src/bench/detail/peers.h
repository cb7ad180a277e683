#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ronde/base/log.h"
#include "ronde/bench/detail/contestant.h"

namespace ronde::bench::detail {

// A cpu for each rank, cores of their own as long as there are enough. All contestants bind their ranks to these.
std::vector<int> cpus_for(int ranks);
std::string cpu_list(std::span<const int> cpus);  // "0,1"

// The peers that we know, in the order of their columns, whether they are installed or not.
inline constexpr const char* kPeers[] = {"mpi", "gloo", "horovod"};

// How to start them. `python`: the interpreter; empty: that of .peers or .venv, in the current folder or any above the
// program, or else python3.
std::vector<Entrant> peer_entrants(std::span<const int> cpus, const std::string& python);

// Starts those that are installed; a warning names each that is not, and why.
std::vector<std::unique_ptr<Contestant>> start_peers(std::span<const int> cpus, const std::string& python,
                                                     const Log& log);

// The text of peers/torch_peers.py.
extern const char* const kTorchPeers;

}  // namespace ronde::bench::detail
