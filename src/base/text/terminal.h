#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "ronde/base/settings/environment.h"

namespace ronde {

bool is_terminal(std::FILE* file);

// Puts colours around text, or leaves it as it is.
class Paint {
 public:
  explicit Paint(bool on = false) : on_(on) {}

  // For the setting cli.color: always, never, or auto: a terminal that can (TERM is not dumb), and no NO_COLOR.
  static Paint choose(std::string_view setting, std::FILE* file, const Environment& environment);

  std::string bold(std::string_view text) const { return around("1", text); }
  std::string dim(std::string_view text) const { return around("2", text); }
  std::string red(std::string_view text) const { return around("31", text); }
  std::string green(std::string_view text) const { return around("32", text); }
  std::string yellow(std::string_view text) const { return around("33", text); }
  bool on() const { return on_; }

 private:
  std::string around(std::string_view code, std::string_view text) const;

  bool on_;
};

}  // namespace ronde
