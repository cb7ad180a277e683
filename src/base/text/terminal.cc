#include "ronde/base/text/terminal.h"

#include <unistd.h>

#include "ronde/base/text/format.h"

namespace ronde {

bool is_terminal(std::FILE* file) {
  return isatty(fileno(file)) == 1;
}

Paint Paint::choose(std::string_view setting, std::FILE* file, const Environment& environment) {
  if (setting != "auto") return Paint(setting == "always");
  const auto no_color = environment.get("NO_COLOR");
  const bool wanted = (!no_color || no_color->empty()) && environment.get("TERM") != "dumb";
  return Paint(wanted && is_terminal(file));
}

std::string Paint::around(std::string_view code, std::string_view text) const {
  return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

}  // namespace ronde
