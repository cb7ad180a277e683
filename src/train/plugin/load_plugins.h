#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ronde/base/settings/settings.h"
#include "ronde/train/registry.h"

namespace ronde::train {

// `own`, with what the plugins of the setting plugin add to it; nullptr: nothing is there yet. A plugin stays in memory
// to the end of the process.
// FAILS WITH: BadInput for a file that is no plugin, was built with another Ronde or libtorch, or adds a name that is
// taken; System for one that cannot be loaded.
std::shared_ptr<const Registry> with_plugins(const Settings& settings, std::shared_ptr<const Registry> own = nullptr);

// What this program was built with, as a plugin says it: "ronde 0.1.0 (55e1f07), libtorch 2.13.0".
std::string plugin_build();

// What a plugin was built with, by the bytes of its file; nothing: it is no plugin. Pure.
std::optional<std::string> build_in(std::string_view file);

}  // namespace ronde::train
