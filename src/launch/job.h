#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "ronde/base/environment.h"
#include "ronde/topology/binding.h"

namespace ronde::launch {

// Where lines of ranks go.
struct Stream {
  int descriptor = 1;
  bool color = false;
  bool terminal = false;  // progress bars are shown; elsewhere only what they end with
};

// One command, started as several ranks on this machine.
struct Job {
  std::vector<std::string> command;  // a program and its arguments
  topology::BindingPlan binding;     // one entry a rank
  std::string host;                  // as messages name this machine
  Environment environment;           // ranks start with it, and with what rank_environment() adds
  Environment::Variables settings;   // more for their environment: settings that were given to the launcher as flags
  std::chrono::nanoseconds grace = std::chrono::seconds(10);  // between the polite signal and SIGKILL
  Stream out = {.descriptor = 1}, err = {.descriptor = 2};    // standard output and standard error of all ranks
};

// Starts all ranks, passes their output on with the rank in front of each line, and waits for them. It is their
// bootstrap too. The first rank that fails stops the others; signals that end a program (SIGINT, SIGTERM, SIGHUP,
// SIGQUIT) stop them all, and a second one kills them. Rank 0 reads our standard input, the others /dev/null. The last
// thing it prints, to `err`, is who failed first and how.
//
// Returns the exit code for the whole: 0; the first failing rank's code, or 128 + signal; 128 + the signal that we got.
// When it returns, or when this process is killed, no process of the job is left, in whatever group or session it is.
//
// REQUIRES: the process has no other children and no other threads; command and binding.ranks are not empty.
// FAILS WITH: BadInput for a command that cannot be executed; System.
int run_job(const Job& job);

}  // namespace ronde::launch
