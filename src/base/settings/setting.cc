#include "ronde/base/settings/setting.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"

namespace ronde {
namespace {

bool parse_bool(std::string_view text) {
  constexpr auto kYes = std::to_array<std::string_view>({"true", "on", "yes", "1"});
  constexpr auto kNo = std::to_array<std::string_view>({"false", "off", "no", "0"});
  if (std::ranges::count(kYes, text)) return true;
  if (std::ranges::count(kNo, text)) return false;
  throw Error::bad_input("'{}' is neither true nor false", text);
}

template <class Number>
Number require_number(std::string_view text, std::string_view what) {
  if (const auto number = parse_number<Number>(text)) return *number;
  throw Error::bad_input("'{}' is not {}", text, what);
}

double parse_real(std::string_view text) {
  const double number = require_number<double>(text, "a number");
  if (!std::isfinite(number)) throw Error::bad_input("'{}' is not a finite number", text);
  return number;
}

std::string parse_choice(std::string_view text, std::string_view range) {
  const auto choices = split(range, '|');
  if (std::ranges::count(choices, text)) return std::string(text);
  const std::vector<std::string> names(choices.begin(), choices.end());
  throw Error::bad_input("'{}' is not one of {}", text, join(names, ", "));
}

SettingValue parse_type(const Setting& setting, std::string_view text) {
  switch (setting.type) {
    case SettingType::Bool: return parse_bool(text);
    case SettingType::Int: return require_number<std::int64_t>(text, "a whole number");
    case SettingType::Real: return parse_real(text);
    case SettingType::Bytes: return parse_bytes(text);
    case SettingType::Duration: return parse_duration(text);
    case SettingType::Steps: return parse_step_window(text);
    case SettingType::Text: return std::string(text);
    case SettingType::Choice: return parse_choice(text, setting.range);
  }
  throw Error(Error::Kind::Bug, "a setting type without a parser");
}

void check_range(const Setting& setting, std::string_view text, const SettingValue& value) {
  const auto dots = setting.range.find("..");
  if (setting.type == SettingType::Choice || dots == std::string_view::npos) return;
  const auto low = setting.range.substr(0, dots), high = setting.range.substr(dots + 2);
  if (!low.empty() && value < parse_type(setting, low)) throw Error::bad_input("'{}' is below {}", text, low);
  if (!high.empty() && value > parse_type(setting, high)) throw Error::bad_input("'{}' is above {}", text, high);
}

std::string replace_all(std::string text, std::string_view letters, char by) {
  for (char& letter : text)
    if (letters.find(letter) != std::string_view::npos) letter = by;
  return text;
}

}  // namespace

std::string_view name(SettingType type) {
  switch (type) {
    case SettingType::Bool: return "true or false";
    case SettingType::Int: return "whole number";
    case SettingType::Real: return "number";
    case SettingType::Bytes: return "size";
    case SettingType::Duration: return "time";
    case SettingType::Steps: return "100..120";
    case SettingType::Text: return "text";
    case SettingType::Choice: return "choice";
  }
  return "unknown";
}

std::string flag_name(const Setting& setting) {
  return "--" + replace_all(std::string(setting.key), "._", '-');
}

std::string variable_name(const Setting& setting) {
  std::string name = "RONDE_" + replace_all(std::string(setting.key), ".", '_');
  std::ranges::transform(name, name.begin(), [](unsigned char letter) { return std::toupper(letter); });
  return name;
}

SettingValue parse_value(const Setting& setting, std::string_view text) {
  text = trim(text);
  SettingValue value = parse_type(setting, text);
  check_range(setting, text, value);
  return value;
}

}  // namespace ronde
