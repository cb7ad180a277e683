#include "ronde/base/text/text.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace ronde {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const auto at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

// By the last * alone: what an earlier one stands for never has to be looked at again, since a shorter match of the
// texts before leaves more for those after.
bool matches(std::string_view pattern, std::string_view text) {
  std::size_t at = 0, in_pattern = 0;
  std::size_t star = std::string_view::npos, star_at = 0;  // the last *, and where the text after it is tried
  while (at < text.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      star_at = at;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == text[at]) {
      ++in_pattern;
      ++at;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      at = ++star_at;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

std::string join(std::span<const std::string> pieces, std::string_view separator) {
  std::string joined;
  for (const std::string& piece : pieces) {
    if (&piece != pieces.data()) joined += separator;
    joined += piece;
  }
  return joined;
}

std::string counted(std::size_t number, std::string_view thing) {
  return std::to_string(number) + " " + std::string(thing) + (number == 1 ? "" : "s");
}

int edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table suffice: this one, the one above, and the one above that for swaps of neighbours.
  std::array<std::vector<int>, 3> rows;
  for (auto& row : rows) row.resize(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i - 1) % 3];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int change = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], rows[(i - 2) % 3][j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  const auto distance = [&](const std::string& candidate) { return edit_distance(word, candidate); };
  const auto best = std::ranges::min_element(candidates, {}, distance);
  // A third of the letters may be wrong; beyond that a suggestion confuses more than it helps.
  if (best == candidates.end() || distance(*best) > std::max<int>(2, static_cast<int>(word.size()) / 3)) return {};
  return *best;
}

}  // namespace ronde
