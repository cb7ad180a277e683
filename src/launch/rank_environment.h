#pragma once

#include <string>

#include "ronde/base/environment.h"
#include "ronde/topology/binding.h"

namespace ronde::launch {

// What all ranks of a job on one machine have in common.
struct JobFacts {
  int size = 1;
  int master_port = 0;                   // free when the job starts
  std::string bootstrap;                 // where SocketBootstrapServer listens
  Environment::Variables settings = {};  // RONDE_*, instead of those that the launcher has itself
};

// The environment that one rank starts with: that of the launcher; RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and the
// others as torchrun sets them; RONDE__* for our own bootstrap; OMP_* so that threads sit on the cores that the rank
// owns, unless the user has set OMP_NUM_THREADS; PYTHONUNBUFFERED, unless set, for a pipe would hold Python's lines
// back. Pure.
Environment::Variables rank_environment(const Environment& launcher, const JobFacts& job,
                                        const topology::RankBinding& binding);

}  // namespace ronde::launch
