#pragma once

#include <functional>
#include <string>

#include "ronde/cli/program/app.h"
#include "ronde/cli/run/run_line.h"
#include "ronde/tune/search.h"

namespace CLI {
class App;
}

namespace ronde::cli {

// `ronde tune SPACE.toml -- COMMAND`: a search whose trials are runs of a command; and what can be done with one.
void add_tune(CLI::App& app, const RunLine& line, std::function<int(const Context&)>& command);

// `ronde tune list FOLDER`: its trials as a table.
void add_tune_list(CLI::App& tune, std::function<int(const Context&)>& command);
// `ronde tune export FOLDER --optuna FILE`: for other programs.
void add_tune_export(CLI::App& tune, std::function<int(const Context&)>& command);

// `ronde tune report FOLDER`: a page about it.
void add_tune_report(CLI::App& tune, std::function<int(const Context&)>& command);

// The search in a folder, which may still be running. `command`, of `ronde tune`, is for the error.
// FAILS WITH: BadInput where there is none.
tune::Search search_in(const std::string& folder, const std::string& command);

}  // namespace ronde::cli
