#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

// Command lines as text that a shell understands, and the other way round. All pure.
namespace ronde::launch {

// The word itself where it needs no quotes, otherwise with them.
std::string shell_quoted(std::string_view word);

// Words with blanks between them, quoted where needed; lines longer than `width` go on after a backslash, a
// flag and its value together. The first line begins with `indent` blanks, the others with four more. No newline at the
// end.
std::string shell_line(std::span<const std::string> words, std::size_t width = 110, std::size_t indent = 0);

// The words of a line as a shell would take them: blanks separate, quotes and backslashes keep together. Nothing is
// expanded.
// FAILS WITH: BadInput for a quote without its end, naming `origin`.
std::vector<std::string> shell_words(std::string_view line, std::string_view origin);

}  // namespace ronde::launch
