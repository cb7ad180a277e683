#pragma once

#include <functional>

#include "ronde/cli/program/app.h"
#include "ronde/cli/run/run_line.h"

namespace CLI {
class App;
}

namespace ronde::cli {

// Adds `ronde run`; when it is chosen, sets `command`. `line` must have been filled by then.
void add_run(CLI::App& app, const RunLine& line, std::function<int(const Context&)>& command);

}  // namespace ronde::cli
