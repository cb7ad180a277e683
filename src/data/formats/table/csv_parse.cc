#include "ronde/data/formats/table/csv_parse.h"

#include <algorithm>
#include <array>

#include "ronde/base/error.h"

namespace ronde::data::files {

std::size_t take_csv_row(std::string_view& text, char separator, std::vector<std::string>& fields,
                         const std::string& name, std::size_t line) {
  fields.clear();
  std::size_t at = 0, lines = 1;
  while (true) {
    std::string& field = fields.emplace_back();
    if (at < text.size() && text[at] == '"') {
      for (++at;; ++at) {
        if (at == text.size()) throw Error::bad_input("{}: line {}: unterminated quotes", name, line);
        if (text[at] == '"' && (at + 1 == text.size() || text[at + 1] != '"')) break;
        if (text[at] == '"') ++at;
        if (text[at] == '\n') ++lines;
        field += text[at];
      }
      ++at;
    } else {
      const char ends[] = {separator, '\n', '\0'};
      const std::size_t end = std::min(text.find_first_of(std::string_view(ends, 2), at), text.size());
      field = text.substr(at, end - at);
      at = end;
      if (field.ends_with('\r') && (at == text.size() || text[at] == '\n')) field.pop_back();
    }
    if (at < text.size() && text[at] == '\r' && (at + 1 == text.size() || text[at + 1] == '\n')) ++at;
    if (at == text.size() || text[at] == '\n') break;
    if (text[at] != separator)
      throw Error::bad_input("{}: line {}: unexpected text after the quotes of field {}", name, line, fields.size());
    ++at;
  }
  text.remove_prefix(std::min(at + 1, text.size()));
  return lines;
}

char guess_separator(std::string_view text) {
  constexpr std::array kKnown = {',', ';', '\t'};
  std::array<std::size_t, kKnown.size()> counts{};
  bool quoted = false;
  for (const char letter : text) {
    if (letter == '"') quoted = !quoted;
    if (letter == '\n' && !quoted) break;
    const auto found = std::ranges::find(kKnown, letter);
    if (found != kKnown.end() && !quoted) ++counts[static_cast<std::size_t>(found - kKnown.begin())];
  }
  return kKnown[static_cast<std::size_t>(std::ranges::max_element(counts) - counts.begin())];
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",;\t\"\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char letter : text) field += letter == '"' ? "\"\"" : std::string(1, letter);
  return field + "\"";
}

}  // namespace ronde::data::files
