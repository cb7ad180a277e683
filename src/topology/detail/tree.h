#pragma once

#include <string>
#include <vector>

namespace ronde::topology::detail {

struct Node {
  std::string text;
  std::vector<Node> children = {};
};
std::string render_tree(const Node& root, bool ascii);

// Columns as wide as their widest cell, two spaces between them; the first row is the head. Columns whose cells below
// the head are all empty are left out.
// REQUIRES: all rows have the same number of cells; cells are ASCII.
std::string render_table(const std::vector<std::vector<std::string>>& rows, bool ascii);

}  // namespace ronde::topology::detail
