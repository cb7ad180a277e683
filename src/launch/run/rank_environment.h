#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/topology/binding.h"

namespace ronde::launch {

// Between launcher and ranks, beside those of the bootstrap.
inline constexpr const char* kJobVariable = "RONDE__JOB";          // the same for all ranks of a job
inline constexpr const char* kAttemptVariable = "RONDE__ATTEMPT";  // 1, then one more each time it is restarted
inline constexpr const char* kCpusVariable = "RONDE__CPUS";        // what the rank owns: 0-7
inline constexpr const char* kNicVariable = "RONDE__NIC";          // the nearest good network card: ib0
inline constexpr const char* kGpuVariable = "RONDE__GPU";          // as the rank numbers those that it sees

// What a rank whose script is written for Horovod needs to know besides. As it stands: on one machine.
struct HorovodFacts {
  std::string host;         // this machine
  std::string python_path;  // horovod_python_path()
  // Of the machines that have a rank of this local number: which one this is, and how many there are.
  int cross_rank = 0, cross_size = 1;
};

// What the ranks of a job that run on one machine have in common. As it stands: a job on one machine. For one machine
// of several say besides which global rank each local one is, which of the nodes this is, and where rank 0 runs.
struct JobFacts {
  std::string id = {};          // no other job of this user on this machine has it
  int size = 1;                 // ranks in all
  int local_size = 0;           // ranks on this machine; 0: all of them
  std::vector<int> ranks = {};  // global rank by local rank; empty: the same
  int node = 0;
  std::string master_address = "127.0.0.1";
  int master_port = 0;         // free when the job starts
  std::string bootstrap = {};  // where SocketBootstrapServer listens; empty: ranks meet in another way (MPI)
  int attempt = 1;             // how often the job has been started, with this time
  int columns = 0;             // how wide a line of a rank may be on the user's terminal; 0: no matter
  std::optional<HorovodFacts> horovod = {};  // for scripts that are written for it
  Environment::Variables settings = {};      // instead of what the launcher has itself: RONDE_*, where staged data lies
};

// The environment that one rank starts with: that of the launcher; RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and the
// others as torchrun sets them; RONDE__* for ourselves; OMP_* and KMP_AFFINITY so that threads sit on the cores that
// the rank owns, each unless the user has set it; PYTHONUNBUFFERED, unless set, for a pipe would hold Python's lines
// back. For scripts that are written for Horovod: HOROVOD_RANK and the others as horovodrun sets them for Gloo, and
// PYTHONPATH. `binding`: of a plan for this machine, its `rank` being the local one. Pure.
Environment::Variables rank_environment(const Environment& launcher, const JobFacts& job,
                                        const topology::RankBinding& binding);

}  // namespace ronde::launch
