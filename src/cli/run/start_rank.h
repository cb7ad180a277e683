#pragma once

#include <functional>

#include "ronde/cli/run/run.h"

namespace ronde::cli {

// Adds `ronde start-rank`, which launchers start for each rank of a job on several machines; hidden from --help. When
// it is chosen, sets `command`.
void add_start_rank(CLI::App& app, const RunLine& line, std::function<int(const Context&)>& command);

}  // namespace ronde::cli
