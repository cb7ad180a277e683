#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace ronde::train::detail {

// The files of recipes/ by name, as they were when this was built.
extern const std::span<const std::pair<std::string_view, std::string_view>> kRecipes;

}  // namespace ronde::train::detail
