#pragma once

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/launch/cluster/container.h"
#include "ronde/launch/place/rank_place.h"
#include "ronde/topology/binding.h"

namespace ronde::launch {

// A rank whose process another launcher has started: us. We start its program and stay in front of it.
struct StartedRank {
  RankPlace place;
  std::string host;                  // this machine, as messages name it
  std::string master;                // "host:port" for MASTER_ADDR and MASTER_PORT
  topology::BindingRequest binding;  // how ranks of a machine are bound; its number of ranks is that of `place`
  std::vector<std::string> command;  // a program and its arguments
  Container container;               // in which it runs, if any
  Environment environment;
  Environment::Variables settings = {};                       // more for its program
  std::string horovod_path = {};                              // see StartedJob
  int attempt = 1;                                            // how often the job has been started, with this time
  std::chrono::nanoseconds grace = std::chrono::seconds(10);  // that ranks have to end once they are told to
  bool relay = false;    // output goes to standard error in frames, for `ronde run`; otherwise lines with the rank in
                         // front go to standard output and standard error
  bool packets = false;  // the launcher reads standard error in pieces of at least 4 KiB, and may mix them
  bool warn = true;      // the first rank of each machine prints what is not well with the binding
  bool verbose = false;  // and where its ranks are
};

// Tells a rank under another launcher to stop: its program gets SIGTERM. Launchers that pass this signal on do nothing
// else about it, while on SIGTERM they kill ranks within a second.
inline constexpr int kStopSignal = SIGUSR2;

// Binds this process as `ronde run` would on one machine, runs the program, passes its output and our signals on, and
// returns its exit code, or 128 + signal; 2 or 1 and a line on why, when it could not be started. When it returns, or
// when this process is killed, no process of the rank is left.
// REQUIRES: the process has no other children and no other threads.
// FAILS WITH: System.
int run_started_rank(const StartedRank& rank);

}  // namespace ronde::launch
