#pragma once

#include <functional>

#include "ronde/cli/program/app.h"
#include "ronde/cli/run/run_line.h"

namespace CLI {
class App;
}

namespace ronde::cli {

// `ronde tune SPACE.toml -- COMMAND`: a search whose trials are runs of a command; and what can be done with one.
void add_tune(CLI::App& app, const RunLine& line, std::function<int(const Context&)>& command);

// `ronde tune list FOLDER`: its trials as a table.
void add_tune_list(CLI::App& tune, std::function<int(const Context&)>& command);

}  // namespace ronde::cli
