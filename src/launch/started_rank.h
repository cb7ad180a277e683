#pragma once

#include <string>
#include <vector>

#include "ronde/base/environment.h"

namespace ronde::launch {

// A rank whose process another launcher has started: us. We start its program and stay in front of it.
struct StartedRank {
  int rank = 0;
  std::string host;                  // this machine, as messages name it
  std::vector<std::string> command;  // a program and its arguments
  Environment environment;           // where the program is looked for
  Environment::Variables variables;  // what it starts with
  bool relay = false;                // output goes to standard error in frames, for `ronde run`; otherwise lines with
                                     // the rank in front go to standard output and standard error
};

// Runs the program on the cpus of the calling thread, passes its output and our signals on, and returns its exit code,
// or 128 + signal. When it returns, or when this process is killed, no process of the rank is left.
// REQUIRES: the process has no other children and no other threads.
// FAILS WITH: BadInput for a command that cannot be executed; System.
int run_started_rank(const StartedRank& rank);

}  // namespace ronde::launch
