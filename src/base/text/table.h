#pragma once

#include <string>
#include <vector>

namespace ronde {

// Rows of text in aligned columns, for people. Numbers read best right-aligned: ask for it by column.
//
//   Table table({{"rank", Align::Right}, {"host"}});
//   table.add({"0", "b2"});
//   fmt::print("{}", table.text());
enum class Align { Left, Right };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::Left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: one cell a column.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  // Without the columns that say nothing in any row.
  Table& drop_empty_columns();

  // A line of titles, then the rows, each ending in a newline and starting with `indent` blanks.
  std::string text(int indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// How many columns of a terminal UTF-8 text takes (one a character; ours has no wide ones).
std::size_t display_width(const std::string& text);

}  // namespace ronde
