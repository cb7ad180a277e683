#include "ronde/topology/detail/tree.h"

#include <algorithm>

namespace ronde::topology::detail {
namespace {

void render_children(const Node& node, const std::string& indent, bool ascii, std::string& out) {
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const bool last = i + 1 == node.children.size();
    const char* branch = ascii ? (last ? "`- " : "|- ") : (last ? "└─ " : "├─ ");
    const char* trunk = last ? "   " : (ascii ? "|  " : "│  ");
    out += indent + branch + node.children[i].text + '\n';
    render_children(node.children[i], indent + trunk, ascii, out);
  }
}

void end_line(std::string& out) {
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

std::string repeated(const char* text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

}  // namespace

std::string render_tree(const Node& root, bool ascii) {
  std::string out = root.text + '\n';
  render_children(root, "", ascii, out);
  return out;
}

std::string render_table(const std::vector<std::vector<std::string>>& rows, bool ascii) {
  constexpr std::size_t kGap = 2;
  std::vector<std::size_t> widths(rows.front().size());
  for (std::size_t column = 0; column < widths.size(); ++column)
    for (std::size_t row = 1; row < rows.size(); ++row)
      widths[column] = std::max(widths[column], rows[row][column].size());
  std::size_t total = 0;
  for (std::size_t column = 0; column < widths.size(); ++column) {
    if (widths[column] == 0) continue;
    widths[column] = std::max(widths[column], rows[0][column].size());
    total += widths[column] + (total > 0 ? kGap : 0);
  }
  std::string out;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t column = 0; column < widths.size(); ++column)
      if (widths[column] > 0)
        out += rows[row][column] + std::string(widths[column] - rows[row][column].size() + kGap, ' ');
    end_line(out);
    if (row == 0) out += repeated(ascii ? "-" : "─", total) + '\n';
  }
  return out;
}

}  // namespace ronde::topology::detail
