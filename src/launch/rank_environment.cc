#include "ronde/launch/rank_environment.h"

#include "ronde/comm/socket_bootstrap.h"

namespace ronde::launch {
namespace {

void add_openmp(Environment::Variables& variables, const topology::RankBinding& binding) {
  if (variables.contains("OMP_NUM_THREADS")) return;
  variables["OMP_NUM_THREADS"] = std::to_string(binding.threads);
  const bool user_places_threads = variables.contains("OMP_PLACES") || variables.contains("OMP_PROC_BIND");
  if (binding.omp_places.empty() || user_places_threads) return;
  variables["OMP_PLACES"] = binding.omp_places;
  variables["OMP_PROC_BIND"] = "close";
}

}  // namespace

Environment::Variables rank_environment(const Environment& launcher, const JobFacts& job,
                                        const topology::RankBinding& binding) {
  Environment::Variables variables = launcher.all();
  for (const auto& [name, value] : job.settings) variables[name] = value;
  const std::string rank = std::to_string(binding.rank), size = std::to_string(job.size);
  variables["RANK"] = variables["LOCAL_RANK"] = rank;
  variables["WORLD_SIZE"] = variables["LOCAL_WORLD_SIZE"] = size;
  variables["GROUP_RANK"] = "0";
  variables["MASTER_ADDR"] = "127.0.0.1";
  variables["MASTER_PORT"] = std::to_string(job.master_port);
  variables[comm::kBootstrapVariable] = job.bootstrap;
  variables[comm::kRankVariable] = rank;
  variables[comm::kSizeVariable] = size;
  variables.try_emplace("PYTHONUNBUFFERED", "1");
  add_openmp(variables, binding);
  return variables;
}

}  // namespace ronde::launch
