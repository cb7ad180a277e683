#pragma once

#include <functional>

#include "ronde/cli/program/app.h"

namespace CLI {
class App;
}

namespace ronde::cli {

// Adds `ronde stage`, which help does not show: what `ronde run` starts once on each of several nodes.
//
//   ronde stage --job 17 --stage data.tar --unstage results      before the ranks start
//   ronde stage --job 17 --unstage results --host-folders --back  after they have ended
//
// The first prints NAME=VALUE for what ranks there shall find in their environment, a line each.
void add_stage(CLI::App& app, std::function<int(const Context&)>& command);

}  // namespace ronde::cli
