#include "ronde/bench/detail/peers.h"

#include <chrono>
#include <filesystem>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/topology/binding.h"
#include "ronde/topology/machine.h"

namespace ronde::bench::detail {
namespace {

constexpr auto kStartTime = std::chrono::seconds(60);  // importing torch from a slow disk

std::string find_python() {
  namespace fs = std::filesystem;
  std::vector<fs::path> folders{fs::current_path()};
  for (fs::path at = ronde_program(); at.has_relative_path();) folders.push_back(at = at.parent_path());
  for (const char* environment : {".peers", ".venv"})
    for (const fs::path& folder : folders)
      if (fs::exists(folder / environment / "bin/python")) return folder / environment / "bin/python";
  return "python3";
}

Entrant mpi_entrant(std::span<const int> cpus) {
  const auto program = std::filesystem::path(ronde_program()).replace_filename("ronde-peer-mpi");
  const bool built = std::filesystem::exists(program);
  // Ranks bind themselves, to the same cpus as ours.
  return {.name = "mpi",
          .command = {"mpirun", "-n", std::to_string(cpus.size()), "--oversubscribe", "--allow-run-as-root",
                      "--bind-to", "none", program, cpu_list(cpus)},
          .missing = built ? "" : "this build has no MPI: there is no ronde-peer-mpi next to ronde"};
}

// Our own package lies beside the program in a build folder; elsewhere pip has installed it.
Entrant our_package(const char* name, const char* kind, const std::string& interpreter, std::span<const int> cpus,
                    const std::vector<std::string>& job) {
  const auto beside = std::filesystem::path(ronde_program()).replace_filename("python");
  std::vector<std::string> command;
  if (std::filesystem::exists(beside)) command = {"env", "PYTHONPATH=" + beside.string()};
  command.insert(command.end(), {interpreter, "-c", kTorchPeers, kind, cpu_list(cpus)});
  command.insert(command.end(), job.begin(), job.end());
  return {.name = name, .command = std::move(command), .ranks = static_cast<int>(cpus.size())};
}

}  // namespace

std::string peer_python(const std::string& named) {
  return named.empty() ? find_python() : named;
}

std::vector<int> cpus_for(int ranks) {
  const auto plan = topology::plan_binding(
      topology::discover(), {.ranks = ranks, .policy = topology::Policy::Core, .threads = 1, .engine_core = false});
  std::vector<int> cpus;
  for (const auto& rank : plan.ranks) cpus.push_back(rank.compute.front());
  return cpus;
}

std::string cpu_list(std::span<const int> cpus) {
  std::vector<std::string> words;
  for (const int cpu : cpus) words.push_back(std::to_string(cpu));
  return join(words, ",");
}

std::vector<Entrant> peer_entrants(std::span<const int> cpus, const std::string& python) {
  const std::string interpreter = peer_python(python);
  return {mpi_entrant(cpus),
          {.name = "gloo",
           .command = {interpreter, "-c", kTorchPeers, "gloo", cpu_list(cpus)},
           .ranks = static_cast<int>(cpus.size())},
          {.name = "horovod", .command = {interpreter, "-c", kTorchPeers, "horovod", cpu_list(cpus)}}};
}

std::vector<Entrant> training_peer_entrants(std::span<const int> cpus, const std::string& python,
                                            const std::string& model, int batch) {
  const std::string interpreter = peer_python(python), list = cpu_list(cpus);
  const auto command = [&](const char* peer) {
    return std::vector<std::string>{interpreter, "-c", kTorchPeers, peer, list, model, std::to_string(batch)};
  };
  const int ranks = static_cast<int>(cpus.size());
  Entrant kept{.name = "ddp_kept", .command = {"env"}, .ranks = ranks};
  // No block is mapped by itself, and nothing is given back at the end of the heap.
  for (const char* variable :
       {"MALLOC_MMAP_MAX_=0", "MALLOC_MMAP_THRESHOLD_=1099511627776", "MALLOC_TRIM_THRESHOLD_=1099511627776"})
    kept.command.emplace_back(variable);
  for (const std::string& word : command("gloo")) kept.command.push_back(word);
  const std::vector<std::string> job{model, std::to_string(batch)};
  Entrant plain = our_package("ddp_ronde_plain", "c10d", interpreter, cpus, job);
  plain.command.insert(plain.command.begin(), {"env", "RONDE_MEMORY_ARENA=false"});
  return {our_package("python", "ronde", interpreter, cpus, job),
          our_package("python_ddp", "ronde-ddp", interpreter, cpus, job),
          our_package("python_alone", "ronde-alone", interpreter, cpus, job),
          {.name = "ddp", .command = command("gloo"), .ranks = ranks},
          std::move(kept),
          our_package("ddp_ronde", "c10d", interpreter, cpus, job),
          std::move(plain),
          {.name = "horovod", .command = command("horovod")}};
}

std::vector<Entrant> small_tensor_entrants(std::span<const int> cpus, const std::string& python, int tensors) {
  const std::string interpreter = peer_python(python), count = std::to_string(tensors);
  return {our_package("python", "ronde", interpreter, cpus, {count}),
          {.name = "horovod", .command = {interpreter, "-c", kTorchPeers, "horovod", cpu_list(cpus), count}}};
}

std::vector<Entrant> distributed_entrants(std::span<const int> cpus, const std::string& python) {
  const std::string interpreter = peer_python(python);
  return {our_package("c10d", "c10d", interpreter, cpus, {}),
          {.name = "gloo",
           .command = {interpreter, "-c", kTorchPeers, "gloo", cpu_list(cpus)},
           .ranks = static_cast<int>(cpus.size())}};
}

std::vector<Entrant> gpu_peer_entrants(const std::string& python, const std::string& model, int batch) {
  const auto entrant = [&](const char* name, const char* kind) {
    return Entrant{.name = name,
                   .command = {peer_python(python), "-c", kGpuPeersText, kind, model, std::to_string(batch)}};
  };
  return {entrant("python_eager", "eager"), entrant("python_graph", "graph")};
}

std::vector<std::unique_ptr<Contestant>> start_peers(const std::vector<Entrant>& entrants, const Log& log) {
  std::vector<std::unique_ptr<Contestant>> peers;
  for (const Entrant& entrant : entrants) {
    try {
      if (!entrant.missing.empty()) throw Error(Error::Kind::System, entrant.missing);
      auto peer = std::make_unique<Contestant>(entrant);
      peer->wait_until_ready(Deadline::after(kStartTime));
      peers.push_back(std::move(peer));
    } catch (const Error& error) {
      log.warn("{} is left out: {}", entrant.name, error.what());
    }
  }
  return peers;
}

}  // namespace ronde::bench::detail
