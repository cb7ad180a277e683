#include "ronde/launch/place/rank_place.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/launch/run/rank_environment.h"

namespace ronde::launch {
namespace {

// Which variables say what. Where a launcher does not tell the local numbers, the names are empty.
struct Source {
  LauncherKind launcher;
  const char *rank, *size, *local_rank, *local_size;
};
constexpr auto kSources = std::to_array<Source>({
    {LauncherKind::OpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {LauncherKind::Jsrun, "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK",
     "JSM_NAMESPACE_LOCAL_SIZE"},
    {LauncherKind::Jsrun, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {LauncherKind::Hydra, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {LauncherKind::Srun, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""},
    {LauncherKind::Srun, "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", ""},
});

std::optional<int> number(const Environment& environment, const char* name) {
  const auto text = environment.get(name);
  if (!text) return {};
  const auto value = parse_number<int>(*text);
  if (!value || *value < 0) throw Error::bad_input("{}={} is not a whole number of at least 0", name, *text);
  return value;
}

int node_of(int rank, const std::vector<int>& layout) {
  int node = 0;
  for (int end = 0; node < static_cast<int>(layout.size()); ++node) {
    end += layout[static_cast<std::size_t>(node)];
    if (rank < end) return node;
  }
  return 0;
}

void check_layout(const Source& source, int size, const std::vector<int>& layout) {
  const int expected = std::accumulate(layout.begin(), layout.end(), 0);
  if (!layout.empty() && expected != size)
    throw Error::bad_input("{} has started {} ({}) instead of {}: it did not follow the request of 'ronde run'",
                           name(source.launcher), counted(static_cast<std::size_t>(size), "rank"), source.size,
                           expected);
}

void add_cross(RankPlace& place, const std::vector<int>& layout) {
  const auto has_one = [&](int ranks) { return ranks > place.local_rank; };
  place.cross_rank = static_cast<int>(std::count_if(layout.begin(), layout.begin() + place.node, has_one));
  place.cross_size = static_cast<int>(std::ranges::count_if(layout, has_one));
  if (layout.empty() && place.local_size == place.size) place.cross_size = 1;
}

RankPlace place_from(const Environment& environment, const Source& source, const std::vector<int>& layout) {
  RankPlace place{.rank = *number(environment, source.rank), .size = *number(environment, source.size)};
  check_layout(source, place.size, layout);
  if (place.rank >= place.size)
    throw Error::bad_input("{}={} must be less than {}={}: ranks are numbered from 0", source.rank, place.rank,
                           source.size, place.size);
  place.node = node_of(place.rank, layout);
  const auto here = static_cast<std::size_t>(place.node);
  const int before = std::accumulate(layout.begin(), layout.begin() + place.node, 0);
  // Where nobody tells and no layout was given, all ranks are taken to be here.
  place.local_rank = number(environment, source.local_rank).value_or(place.rank - before);
  place.local_size = number(environment, source.local_size).value_or(layout.empty() ? place.size : layout[here]);
  if (place.local_rank >= place.local_size)
    throw Error::bad_input(
        "rank {} has local rank {} of {} on its machine, according to {}: pass the layout (--layout)", place.rank,
        place.local_rank, place.local_size, name(source.launcher));
  add_cross(place, layout);
  return place;
}

HorovodFacts horovod_facts(const RankPlace& place, const StartedJob& job) {
  if (place.cross_size == 0)
    throw Error::bad_input("rank {}: the machines of the other ranks are not known: pass the layout (--layout)",
                           place.rank);
  return {.host = job.host,
          .python_path = job.horovod_path,
          .cross_rank = place.cross_rank,
          .cross_size = place.cross_size};
}

}  // namespace

RankPlace rank_place(const Environment& environment, std::optional<LauncherKind> launcher,
                     const std::vector<int>& layout) {
  for (const Source& source : kSources)
    if ((!launcher || *launcher == source.launcher) && environment.get(source.rank) && environment.get(source.size))
      return place_from(environment, source, layout);
  throw Error::bad_input(
      "'ronde start-rank' is for launchers: it finds its rank in the variables of {}, which are not set",
      launcher ? name(*launcher) : "mpirun, hydra, srun or jsrun");
}

Environment::Variables started_environment(const Environment& environment, const RankPlace& place,
                                           const StartedJob& job, const topology::RankBinding& binding) {
  JobFacts facts{.id = job.master, .size = place.size, .local_size = place.local_size, .node = place.node};
  facts.ranks.assign(static_cast<std::size_t>(place.local_size), 0);
  facts.ranks[static_cast<std::size_t>(place.local_rank)] = place.rank;  // nobody asks for the others here
  const auto colon = job.master.rfind(':');
  facts.master_address = job.master.substr(0, colon);
  facts.master_port = parse_number<int>(job.master.substr(colon + 1)).value_or(0);
  facts.attempt = job.attempt;
  facts.settings = job.settings;
  if (!job.horovod_path.empty()) facts.horovod = horovod_facts(place, job);
  return rank_environment(environment, facts, binding);
}

}  // namespace ronde::launch
