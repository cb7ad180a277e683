#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

// Sizes and times as people write them.
namespace ronde {

// "64MiB", "1.5 GB", "4096" (bytes). Binary units end in iB; kB, MB, GB, TB are powers of 1000.
// FAILS WITH: BadInput.
std::uint64_t parse_bytes(std::string_view text);

// "2ms", "30 s", "1.5h"; units ns us ms s min h d. A bare number is refused, except 0: nobody remembers its unit.
// FAILS WITH: BadInput.
std::chrono::nanoseconds parse_duration(std::string_view text);

// Short, for people: "64 MiB", "1.4 GiB", "512 B".
std::string format_bytes(std::uint64_t bytes);

// Short, for people: "2.1 ms", "30 s", "1 h 5 min".
std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace ronde
