#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/launch/process/signals.h"

namespace ronde::launch::detail {

// Where a command lies: itself when it has a slash, otherwise as PATH says.
// FAILS WITH: BadInput, naming it, when it is not there or cannot be executed.
std::string find_program(const std::string& name, const Environment& environment);

struct Program {
  std::string path;
  std::vector<std::string> arguments;  // the first is its name
  Environment::Variables environment;
};

struct Wiring {
  int in = 0, out = 1, err = 2;  // become the program's standard input, output and error
};

// Starts a program in a process group of its own, on the cpus of the calling thread. It dies with the thread that
// starts it. `signals` are given back to it as they were.
// FAILS WITH: BadInput when the file cannot be executed, System when there is no room for another process.
pid_t start_process(const Program& program, const Wiring& wiring, const Signals& signals);

}  // namespace ronde::launch::detail
