#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/tune/run/runner.h"

namespace ronde::tune {

// A trial that is a command: each line of its standard output that is a JSON object is a report. It gets the values of
// the trial in its words (placeholders.h) and in TUNE_CONFIG, as JSON; TUNE_TRIAL_ID and TUNE_TRIAL_DIR tell its number
// and its folder. It goes on while its report is looked at. When the search ends the trial, it gets SIGTERM and, after
// `grace`, SIGKILL, with all that it has started. All it writes is in the files stdout and stderr of its folder.
struct CommandOptions {
  std::string program;  // where the first word lies
  std::vector<std::string> words;
  Environment::Variables environment;
  std::string metric;  // a command that ends without a report that has it has failed; empty: none is needed
  std::chrono::nanoseconds grace = std::chrono::seconds(10);
  // Called first in the new process: it puts back what this one has made of its signals.
  std::function<void()> restore_signals = [] {};
};

// A child of this process that runs such trials: for RunOptions::start_worker.
// FAILS WITH: System when it cannot be started.
WorkerProcess start_command_worker(const CommandOptions& options);

// What is told of a command that failed: how it ended and the last words of its standard error. Pure.
std::string failure_text(const std::string& how, std::string_view standard_error);

}  // namespace ronde::tune
