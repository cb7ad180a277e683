#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "ronde/base/math/step_window.h"

namespace ronde {

// What kind of value a setting takes, and the C++ type that a program reads it as.
enum class SettingType {
  Bool,      // bool: true or false (also on/off, yes/no, 1/0)
  Int,       // std::int64_t
  Real,      // double
  Bytes,     // std::uint64_t, with a unit: 64MiB
  Duration,  // std::chrono::nanoseconds, with a unit: 30s
  Steps,     // StepWindow: 100..120, 100.., ..120; empty: all
  Text,      // std::string, anything
  Choice,    // std::string, one of those that `range` lists
};

using SettingValue =
    std::variant<bool, std::int64_t, double, std::uint64_t, std::chrono::nanoseconds, StepWindow, std::string>;

// One line of the one list of settings (settings_list.h).
struct Setting {
  std::string_view key;      // "trace.bytes": also the TOML key; the flag and the variable derive from it
  SettingType type;          //
  std::string_view initial;  // the default, as a user would write it
  std::string_view range;    // "1..64", "64KiB..", "a|b" for a choice; empty: any value
  std::string_view help;     // one sentence
};

std::string_view name(SettingType type);

// "trace.bytes" -> "--trace-bytes" and "RONDE_TRACE_BYTES".
std::string flag_name(const Setting& setting);
std::string variable_name(const Setting& setting);

// Reads a value as the setting's type and checks its range.
// FAILS WITH: BadInput; the message says what is wrong with the text, not where it came from.
SettingValue parse_value(const Setting& setting, std::string_view text);

}  // namespace ronde
