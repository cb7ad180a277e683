#pragma once

#include <cstddef>
#include <cstdio>

namespace ronde::cli {

struct TerminalSize {
  std::size_t columns = 80, lines = 24;
};

// Of the terminal that the file is; the usual size where that is not known.
TerminalSize terminal_size(std::FILE* file);

}  // namespace ronde::cli
