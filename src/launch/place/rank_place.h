#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/launch/run/launcher.h"
#include "ronde/topology/binding.h"

// What a rank that another launcher has started knows about itself. All pure.
namespace ronde::launch {

struct RankPlace {
  int rank = 0, size = 1;              // in the job
  int local_rank = 0, local_size = 1;  // on this machine
  int node = 0;                        // which machine of the job this is
  // Of the machines that have a rank of this local number: which one this is, and how many there are. 0: nobody knows,
  // for no layout was given and ranks are elsewhere too.
  int cross_rank = 0, cross_size = 1;
  friend bool operator==(const RankPlace&, const RankPlace&) = default;
};

// Reads the variables that this launcher sets (nothing: those of any launcher, the most specific first):
// OMPI_COMM_WORLD_*, PMI_* and MPI_LOCAL*, SLURM_*, JSM_NAMESPACE_*. `layout`, the ranks of each machine, fills in what
// a launcher does not tell; it may be empty where it tells all.
// FAILS WITH: BadInput when there are no such variables, or when they contradict the layout.
RankPlace rank_place(const Environment& environment, std::optional<LauncherKind> launcher,
                     const std::vector<int>& layout);

// The environment of such a rank's program: as rank_environment() gives it on one machine, with the numbers of the
// whole job, MASTER_ADDR on its first machine, and without our own bootstrap: ranks of several machines find each other
// by MPI.
struct StartedJob {
  std::string master;  // "host:port"
  int attempt = 1;
  Environment::Variables settings = {};  // more variables
  std::string host = {};                 // this machine
  std::string horovod_path = {};         // for scripts that are written for Horovod: horovod_python_path()
};
// FAILS WITH: BadInput for a script of Horovod's without a layout.
Environment::Variables started_environment(const Environment& environment, const RankPlace& place,
                                           const StartedJob& job, const topology::RankBinding& binding);

}  // namespace ronde::launch
