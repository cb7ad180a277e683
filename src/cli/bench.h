#pragma once

#include <functional>

#include "ronde/cli/program/app.h"

namespace CLI {
class App;
}

namespace ronde::cli {

// Adds `ronde bench`; when it is chosen, sets `command`.
void add_bench(CLI::App& app, std::function<int(const Context&)>& command);

}  // namespace ronde::cli
