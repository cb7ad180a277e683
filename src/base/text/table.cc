#include "ronde/base/text/table.h"

#include <algorithm>

namespace ronde {

std::size_t display_width(const std::string& text) {
  const auto starts_character = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; };
  return static_cast<std::size_t>(std::ranges::count_if(text, starts_character));
}

Table& Table::drop_empty_columns() {
  for (std::size_t c = columns_.size(); c-- > 0;) {
    if (!std::ranges::all_of(rows_, [&](const auto& row) { return row[c].empty(); })) continue;
    const auto at = static_cast<std::ptrdiff_t>(c);
    columns_.erase(columns_.begin() + at);
    for (auto& row : rows_) row.erase(row.begin() + at);
  }
  return *this;
}

std::string Table::text(int indent) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = display_width(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[c]));
    widths.push_back(width);
  }
  std::string out;
  const auto add_line = [&](auto cell_of) {
    std::string line(static_cast<std::size_t>(indent), ' ');
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string& cell = cell_of(c);
      const std::string blanks(widths[c] - display_width(cell), ' ');
      line += columns_[c].align == Align::Right ? blanks + cell : cell + blanks;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add_line([&](std::size_t c) -> const std::string& { return columns_[c].title; });
  for (const auto& row : rows_) add_line([&](std::size_t c) -> const std::string& { return row[c]; });
  return out;
}

}  // namespace ronde
