#include "ronde/launch/run/rank_environment.h"

#include <algorithm>
#include <array>

#include "ronde/comm/socket_bootstrap.h"
#include "ronde/launch/horovod/horovod_shim.h"

namespace ronde::launch {
namespace {

using Variables = Environment::Variables;

// Sets a variable, or removes what an outer job has left there.
void put(Variables& variables, const char* name, const std::string& value) {
  if (value.empty())
    variables.erase(name);
  else
    variables[name] = value;
}

// KMP_AFFINITY with a type would make Intel's and LLVM's OpenMP drop OMP_PLACES, with a warning. What it has to say is
// `norespect`: where GNU's OpenMP is loaded too, that has bound the main thread already, and they would believe that
// its place is all there is.
void add_openmp(Variables& variables, const topology::RankBinding& binding) {
  constexpr std::array kByTheUser{"OMP_PLACES", "OMP_PROC_BIND", "KMP_AFFINITY", "GOMP_CPU_AFFINITY"};
  const bool placed = std::ranges::any_of(kByTheUser, [&](const char* name) { return variables.contains(name); });
  variables.try_emplace("OMP_NUM_THREADS", std::to_string(binding.threads));
  if (binding.omp_places.empty() || placed) return;
  variables["OMP_PLACES"] = binding.omp_places;
  variables["OMP_PROC_BIND"] = "close";
  variables["KMP_AFFINITY"] = "nowarnings,norespect";
}

void add_ours(Variables& variables, const JobFacts& job, const topology::RankBinding& binding, int rank) {
  const bool ours = !job.bootstrap.empty();
  put(variables, comm::kBootstrapVariable, job.bootstrap);
  put(variables, comm::kRankVariable, ours ? std::to_string(rank) : "");
  put(variables, comm::kSizeVariable, ours ? std::to_string(job.size) : "");
  put(variables, kJobVariable, job.id);
  put(variables, kAttemptVariable, std::to_string(job.attempt));
  put(variables, kCpusVariable, binding.cpus.format());
  put(variables, comm::kEngineCpusVariable, binding.engine.format());
  put(variables, kNicVariable, binding.network);
  put(variables, kGpuVariable, binding.gpu ? std::to_string(*binding.gpu) : "");
}

// As horovodrun does where Gloo is the controller: that is how scripts know that they need no MPI.
void add_horovod(Variables& variables, const HorovodFacts& facts) {
  constexpr std::array<std::array<const char*, 2>, 4> kSameAsTorchrun{{{"HOROVOD_RANK", "RANK"},
                                                                       {"HOROVOD_SIZE", "WORLD_SIZE"},
                                                                       {"HOROVOD_LOCAL_RANK", "LOCAL_RANK"},
                                                                       {"HOROVOD_LOCAL_SIZE", "LOCAL_WORLD_SIZE"}}};
  for (const auto& [name, same] : kSameAsTorchrun) variables[name] = variables[same];
  variables["HOROVOD_CROSS_RANK"] = std::to_string(facts.cross_rank);
  variables["HOROVOD_CROSS_SIZE"] = std::to_string(facts.cross_size);
  variables["HOROVOD_HOSTNAME"] = facts.host;
  variables["HOROVOD_CONTROLLER"] = "gloo";
  variables["HOROVOD_CPU_OPERATIONS"] = "gloo";
  variables["PYTHONPATH"] = python_path(facts.python_path, variables["PYTHONPATH"]);
}

}  // namespace

Variables rank_environment(const Environment& launcher, const JobFacts& job, const topology::RankBinding& binding) {
  Variables variables = launcher.all();
  for (const auto& [name, value] : job.settings) variables[name] = value;
  const int rank = job.ranks.empty() ? binding.rank : job.ranks.at(static_cast<std::size_t>(binding.rank));
  variables["RANK"] = std::to_string(rank);
  variables["LOCAL_RANK"] = std::to_string(binding.rank);
  variables["WORLD_SIZE"] = std::to_string(job.size);
  variables["LOCAL_WORLD_SIZE"] = std::to_string(job.local_size > 0 ? job.local_size : job.size);
  variables["GROUP_RANK"] = std::to_string(job.node);
  variables["MASTER_ADDR"] = job.master_address;
  variables["MASTER_PORT"] = std::to_string(job.master_port);
  variables.try_emplace("PYTHONUNBUFFERED", "1");
  if (job.columns > 0) variables.try_emplace("COLUMNS", std::to_string(job.columns));
  add_ours(variables, job, binding, rank);
  add_openmp(variables, binding);
  if (job.horovod) add_horovod(variables, *job.horovod);
  return variables;
}

}  // namespace ronde::launch
