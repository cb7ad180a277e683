#pragma once

#include <functional>

#include "ronde/cli/program/app.h"

namespace CLI {
class App;
}

namespace ronde::cli {

// Adds `ronde train`, `ronde eval` and `ronde limits`; when one is chosen, sets `command`.
void add_train(CLI::App& app, std::function<int(const Context&)>& command);

}  // namespace ronde::cli
