#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/launch/place/hosts.h"
#include "ronde/launch/run/job.h"
#include "ronde/launch/run/restart.h"

namespace ronde::launch {

// Ranks on several machines, started by another launcher, whose ranks are run_started_rank() with `relay`.
struct RemoteJob {
  std::vector<std::string> command;  // the launcher's command line
  std::string launcher;              // as messages name it: mpirun, hydra, srun, jsrun
  int stop_signal = 15;              // see stop_signal()
  bool passes_user_signal = true;    // see passes_user_signal(); where not, SIGUSR1 is a request to stop
  int ranks = 1;
  std::vector<HostShare> hosts = {};  // where the ranks go, in rank order
  Environment environment;            // the launcher starts with it
  Environment::Variables settings;    // and with these
  std::chrono::nanoseconds grace = std::chrono::seconds(10);
  Stream out = {.descriptor = 1}, err = {.descriptor = 2};
  Display display = {};
  bool append = false;  // files of an earlier attempt are gone on with
};

// As run_job(), with the launcher between us and the ranks: output in whole lines with the rank in front, the first
// rank that fails stops all, its code is returned, and who it was, where, is the last line. What the launcher says
// itself is passed on with its name in front, but not the obituary that follows a rank's failure. After a failure,
// hosts of which nothing is heard within the grace time are lost. REQUIRES: the process has no other children and no
// other threads. FAILS WITH: BadInput for a launcher that cannot be executed or a folder that cannot be made; System.
JobEnd run_remote_job(const RemoteJob& job);

// One attempt after the other, as `rules` allow, without machines that are lost or have failed where the others
// suffice. `make` says what an attempt on these hosts is. Returns the exit code of the last one.
int run_remote_attempts(
    const RestartRules& rules, std::vector<HostSlots> hosts, int ranks,
    const std::function<RemoteJob(const std::vector<HostSlots>& hosts, int ranks, int attempt)>& make);

// A port for MASTER_PORT that is free on this machine, and so most likely on the first one of the job.
// FAILS WITH: System.
int master_port();

}  // namespace ronde::launch
