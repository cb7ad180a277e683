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

// The peers of `ronde bench train`: our own Python package, by its DistributedOptimizer ("python"), by its
// DistributedDataParallel ("python_ddp"), and torch in Python without any exchange ("python_alone"); torch's
// DistributedDataParallel over gloo, with the C library's defaults ("ddp") and with one that keeps its memory
// ("ddp_kept"), and over our backend, with the arena ("ddp_ronde") and without ("ddp_ronde_plain"); and Horovod.
inline constexpr const char* kTrainingPeers[] = {"python",   "python_ddp", "python_alone",    "ddp",
                                                 "ddp_kept", "ddp_ronde",  "ddp_ronde_plain", "horovod"};
std::vector<Entrant> training_peer_entrants(std::span<const int> cpus, const std::string& python,
                                            const std::string& model, int batch);

// Those of `ronde bench python`: so many small tensors by name through our Python package, and through Horovod.
inline constexpr const char* kSmallTensorPeers[] = {"python", "horovod"};
std::vector<Entrant> small_tensor_entrants(std::span<const int> cpus, const std::string& python, int tensors);

// And one tensor by torch.distributed, over our backend ("c10d") and over gloo.
inline constexpr const char* kDistributedPeers[] = {"c10d", "gloo"};
std::vector<Entrant> distributed_entrants(std::span<const int> cpus, const std::string& python);

// Those of `ronde bench train --device cuda`: torch in Python, one operation after the other, and a step as one graph.
inline constexpr const char* kGpuPeers[] = {"python_eager", "python_graph"};
std::vector<Entrant> gpu_peer_entrants(const std::string& python, const std::string& model, int batch);

// Starts those that are installed; a warning names each that is not, and why.
std::vector<std::unique_ptr<Contestant>> start_peers(const std::vector<Entrant>& entrants, const Log& log);

// The interpreter that was named, or as above.
std::string peer_python(const std::string& named);

// The texts of peers/torch_peers.py, data_peers.py and gpu_peers.py.
extern const char* const kTorchPeers;
extern const char* const kDataPeers;
extern const char* const kGpuPeersText;

}  // namespace ronde::bench::detail
