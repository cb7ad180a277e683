#include "ronde/cli/program/terminal_size.h"

#include <sys/ioctl.h>

namespace ronde::cli {

TerminalSize terminal_size(std::FILE* file) {
  winsize size{};
  TerminalSize result;
  if (::ioctl(::fileno(file), TIOCGWINSZ, &size) != 0) return result;
  if (size.ws_col > 0) result.columns = size.ws_col;
  if (size.ws_row > 0) result.lines = size.ws_row;
  return result;
}

}  // namespace ronde::cli
