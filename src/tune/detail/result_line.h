#pragma once

#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

namespace ronde::tune {

// A line of JSON that is an object; nothing for any other text. NaN and Infinity, which Python's json writes although
// JSON has no such words, become null. Pure.
std::optional<nlohmann::json> parse_result_line(std::string_view line);

}  // namespace ronde::tune
