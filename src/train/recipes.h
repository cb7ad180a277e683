#pragma once

#include <string>
#include <vector>

#include "ronde/base/settings/settings.h"

namespace ronde::train {

// The recipe in a file, or the one of that name that is built in (demo, mnist, ...).
// With `extends = "demo"` it begins from another one, of which it overrides what it sets itself.
// FAILS WITH: BadInput when there is neither, naming those that are built in; System.
Settings::Recipe find_recipe(const std::string& file_or_name);

std::vector<std::string> recipe_names();

// By which settings were loaded: the name of a recipe that is built in, or that of its file without the ending; empty:
// by none. Pure.
std::string recipe_name(const Settings& settings);

// The comment at its head, without the signs: what it is after.
std::string recipe_summary(const Settings::Recipe& recipe);

}  // namespace ronde::train
