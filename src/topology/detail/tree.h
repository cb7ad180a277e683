#pragma once

#include <string>
#include <vector>

namespace ronde::topology::detail {

struct Node {
  std::string text;
  std::vector<Node> children = {};
};
std::string render_tree(const Node& root, bool ascii);

}  // namespace ronde::topology::detail
