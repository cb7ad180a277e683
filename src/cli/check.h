#pragma once

#include <functional>

#include "ronde/cli/program/app.h"

namespace CLI {
class App;
}

namespace ronde::cli {

// Adds `ronde check-rank`, which no help shows; when it is chosen, sets `command`.
void add_check_rank(CLI::App& app, std::function<int(const Context&)>& command);

}  // namespace ronde::cli
