#include "ronde/topology/detail/tree.h"

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

}  // namespace

std::string render_tree(const Node& root, bool ascii) {
  std::string out = root.text + '\n';
  render_children(root, "", ascii, out);
  return out;
}

}  // namespace ronde::topology::detail
