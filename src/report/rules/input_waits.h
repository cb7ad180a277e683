#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ronde/report/advice.h"

// For the rules of the group Input: training waits for samples. Pure.
namespace ronde::report::rules {

inline constexpr std::string_view kReading = "read";  // the stage

// All but title, change and setting of such advice. None: next to nothing is waited for.
std::optional<Advice> waits_for_input(const Evidence& evidence);

// data.path, or a word for it.
std::string path_of(const Evidence& evidence);

}  // namespace ronde::report::rules
