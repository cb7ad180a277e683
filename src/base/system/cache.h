#pragma once

#include <filesystem>

#include "ronde/base/settings/environment.h"

namespace ronde {

// The folder for what Ronde has measured and may forget: XDG_CACHE_HOME/ronde, or ~/.cache/ronde. Nobody has made it
// yet. Empty where the user has no home.
std::filesystem::path cache_folder(const Environment& environment);

}  // namespace ronde
