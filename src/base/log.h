#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <string_view>
#include <utility>

#include "ronde/base/text/format.h"

namespace ronde {

enum class LogLevel { Debug, Info, Warn, Error, Off };

// FAILS WITH: BadInput for a name that is no level.
LogLevel parse_log_level(std::string_view name);

struct LogOptions {
  LogLevel level = LogLevel::Info;
  std::optional<int> rank = {};  // shown in front of every line
  bool color = false;
  std::ostream* stream = nullptr;  // default: standard error; must outlive the log
};

// Messages to the user that are not the program's result. A line reads "12:31:02.123 rank 3 warning: text".
// Safe to call from any thread; lines never mix. Copies write to the same place.
class Log {
 public:
  explicit Log(const LogOptions& options = {});

  template <class... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::Debug, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::Info, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::Warn, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::Error, format, std::forward<Args>(args)...);
  }

 private:
  struct Sink;

  template <class... Args>
  void write(LogLevel level, fmt::format_string<Args...> format, Args&&... args) const {
    if (level >= level_) write_line(level, fmt::format(format, std::forward<Args>(args)...));
  }
  void write_line(LogLevel level, std::string_view line) const;

  LogLevel level_;
  std::shared_ptr<Sink> sink_;
};

}  // namespace ronde
