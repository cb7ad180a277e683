#include "ronde/launch/cluster/shell.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "ronde/base/error.h"

namespace ronde::launch {
namespace {

bool is_plain(char letter) {
  constexpr std::string_view kPlain = "_@%+=:,./-^";
  return std::isalnum(static_cast<unsigned char>(letter)) || kPlain.find(letter) != std::string_view::npos;
}

}  // namespace

std::string shell_quoted(std::string_view word) {
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return std::string(word);
  std::string quoted = "'";
  for (const char letter : word) {
    if (letter == '\'')
      quoted += "'\\''";
    else
      quoted += letter;
  }
  return quoted + "'";
}

std::string shell_line(std::span<const std::string> words, std::size_t width, std::size_t indent) {
  std::string text, line(indent, ' ');
  bool fresh = true;  // nothing on this line yet
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string piece = shell_quoted(words[i]);
    // A flag and its value stay together.
    if (words[i].starts_with('-') && i + 1 < words.size() && !words[i + 1].starts_with('-'))
      piece += " " + shell_quoted(words[++i]);
    if (!fresh && line.size() + 1 + piece.size() > width) {
      text += line + " \\\n";
      line.assign(indent + 4, ' ');
      fresh = true;
    }
    line += (fresh ? "" : " ") + piece;
    fresh = false;
  }
  return text + line;
}

std::vector<std::string> shell_words(std::string_view line, std::string_view origin) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char letter = line[i];
    const bool blank = letter == ' ' || letter == '\t' || letter == '\n';
    if (quote == 0 && blank) {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
      continue;
    }
    in_word = true;
    if (quote == 0 && (letter == '\'' || letter == '"'))
      quote = letter;
    else if (quote != 0 && letter == quote)
      quote = 0;
    else if (letter == '\\' && quote != '\'' && i + 1 < line.size())
      word += line[++i];
    else
      word += letter;
  }
  if (quote != 0) throw Error::bad_input("{}: missing closing {} in: {}", origin, quote, line);
  if (in_word) words.push_back(word);
  return words;
}

}  // namespace ronde::launch
