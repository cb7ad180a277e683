#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/launch/run/rank_environment.h"
#include "ronde/launch/run/restart.h"
#include "ronde/topology/binding.h"

namespace ronde::launch {

// Where lines of ranks go.
struct Stream {
  int descriptor = 1;
  bool color = false;
  bool terminal = false;  // progress bars are shown; elsewhere only what they end with
  int columns = 0;        // of the terminal; 0: unknown
};

// What is shown of the output of ranks.
struct Display {
  std::filesystem::path folder = {};  // empty: none; otherwise it gets files rank.N.out and rank.N.err, one pair a rank
  bool quiet = false;                 // only rank 0 is shown; the last lines of one that fails are shown all the same
  bool timestamps = false;            // in front of every line
};

// One command, started as several ranks on this machine.
struct Job {
  std::vector<std::string> command;  // a program and its arguments
  topology::BindingPlan binding;     // one entry a rank
  std::string host;                  // as messages name this machine
  Environment environment;           // ranks start with it, and with what rank_environment() adds
  Environment::Variables settings;   // more for their environment: settings that were given to the launcher as flags
                                     // and where staged data lies
  std::optional<HorovodFacts> horovod = {};                   // for scripts that are written for it
  std::chrono::nanoseconds grace = std::chrono::seconds(10);  // between the polite signal and SIGKILL
  Stream out = {.descriptor = 1}, err = {.descriptor = 2};    // standard output and standard error of all ranks
  Display display = {};
  RestartRules restart = {};
};

// Starts all ranks, passes their output on with the rank in front of each line, and waits for them. It is their
// bootstrap too. The first rank that fails stops the others; signals that end a program (SIGINT, SIGTERM, SIGHUP,
// SIGQUIT) stop them all, and a second one kills them; SIGUSR1 is passed on. Rank 0 reads our standard input, the
// others /dev/null. The last thing it prints, to `err`, is who failed first and how. A job that fails is started again
// as often as job.restart allows; each time is announced in a line.
//
// Returns the exit code for the whole: 0; 75 when ranks ended so and none failed (to be continued; also after a signal
// that we got); the first failing rank's code, or 128 + signal; 128 + the signal that we got.
// When it returns, or when this process is killed, no process of the job is left, in whatever group or session it is.
//
// REQUIRES: the process has no other children and no other threads; command and binding.ranks are not empty.
// FAILS WITH: BadInput for a command that cannot be executed or a folder that cannot be made; System.
int run_job(const Job& job);

// What run_job() says about a command that cannot be executed, for those who want to know before they prepare much.
// FAILS WITH: BadInput.
void check_command(const Job& job);

}  // namespace ronde::launch
