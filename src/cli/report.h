#pragma once

#include <functional>

#include "ronde/cli/program/app.h"

namespace CLI {
class App;
}

namespace ronde::cli {

// `ronde report FOLDER...`: where the time went, why, and what to change.
void add_report(CLI::App& app, std::function<int(const Context&)>& command);

}  // namespace ronde::cli
