#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ronde/base/log.h"
#include "ronde/base/settings/environment.h"
#include "ronde/base/settings/settings.h"

namespace ronde::cli {

// What every command gets: the settings, already checked, the environment they came from, and where to say things.
struct Context {
  Settings settings;
  Environment environment;
  Log log;
  std::vector<Settings::Flag> flags = {};  // those that the settings came from, HOROVOD_* variables first
};

// Parses the command line, loads the settings and runs the command. Returns the exit code.
// FAILS WITH: BadInput for a wrong command line or setting; whatever the command fails with.
int run(std::span<const char* const> arguments, const Environment& environment);

}  // namespace ronde::cli
