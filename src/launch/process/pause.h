#pragma once

#include <chrono>
#include <optional>

namespace ronde::launch::detail {

// Waits, unless one of the signals that end a program comes: then returns it at once.
std::optional<int> pause_for(std::chrono::nanoseconds duration);

}  // namespace ronde::launch::detail
