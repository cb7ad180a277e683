#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ronde/cli/app.h"

namespace CLI {
class App;
}

namespace ronde::cli {

// What `ronde run --check COMMAND...` starts as every rank instead of the command: this program, asked to look around.
std::vector<std::string> preflight_command(const std::vector<std::string>& command);

// Adds `ronde check-rank`, which no help shows; when it is chosen, sets `command`.
void add_check_rank(CLI::App& app, std::function<int(const Context&)>& command);

}  // namespace ronde::cli
