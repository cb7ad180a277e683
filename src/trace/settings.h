#pragma once

#include <optional>

#include "ronde/trace/recorder.h"

namespace ronde {
class Settings;
}

namespace ronde::trace {

// What the settings trace.* ask for; nothing when trace.dir is empty. The caller adds rank, world size and host.
std::optional<RecorderOptions> options_from(const Settings& settings);

}  // namespace ronde::trace
