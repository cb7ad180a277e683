#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/launch/run/launcher.h"

// Questions to other programs. Thin: what answers mean is decided elsewhere.
namespace ronde::launch {

// Runs a program that is found on the PATH of `environment` and returns what it prints, to standard output and error
// together. Nothing when it is not there, fails, or has not ended in time; it is killed then.
// REQUIRES: no other thread waits for children.
std::optional<std::string> ask_program(const std::vector<std::string>& command, const Environment& environment,
                                       std::chrono::nanoseconds timeout = std::chrono::seconds(10));

// All launchers on the PATH, in the order of launcher_names().
std::vector<Launcher> find_launchers(const Environment& environment);

// Where a program lies on the PATH of `environment`, or nothing.
std::optional<std::string> find_on_path(const std::string& program, const Environment& environment);

}  // namespace ronde::launch
