#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "ronde/cli/program/app.h"

namespace ronde::cli {

// When the batch system ends this job, in seconds since 1970: launch.deadline, otherwise what the batch system says.
// The log tells it. Nothing: no end is known.
std::optional<std::int64_t> job_deadline(const Context& context);

}  // namespace ronde::cli
