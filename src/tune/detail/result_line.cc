#include "ronde/tune/detail/result_line.h"

#include <array>
#include <string>

namespace ronde::tune {
namespace {

// Outside of strings.
std::string without_foreign_numbers(std::string_view text) {
  static constexpr auto kForeign = std::to_array<std::string_view>({"-Infinity", "Infinity", "NaN"});
  std::string result;
  bool is_quoted = false;
  while (!text.empty()) {
    std::size_t taken = 1;
    std::string_view put = text.substr(0, 1);
    if (is_quoted && text.front() == '\\') put = text.substr(0, taken = 2);
    if (text.front() == '"') is_quoted = !is_quoted;
    if (!is_quoted)
      for (const std::string_view word : kForeign)
        if (text.starts_with(word)) {
          taken = word.size();
          put = "null";
          break;
        }
    result += put;
    text.remove_prefix(std::min(taken, text.size()));
  }
  return result;
}

}  // namespace

std::optional<nlohmann::json> parse_result_line(std::string_view line) {
  const auto begin = line.find_first_not_of(" \t");
  if (begin == line.npos || line[begin] != '{') return {};
  nlohmann::json result = nlohmann::json::parse(line, nullptr, false);
  if (result.is_discarded()) result = nlohmann::json::parse(without_foreign_numbers(line), nullptr, false);
  if (!result.is_object()) return {};
  return result;
}

}  // namespace ronde::tune
