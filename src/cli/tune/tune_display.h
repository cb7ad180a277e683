#pragma once

#include <chrono>
#include <string>

#include "ronde/cli/program/app.h"
#include "ronde/tune/output/overview.h"

namespace ronde::cli {

// Shows on standard error how a search goes: on a terminal a table that is drawn over and over, elsewhere a line now
// and then, and what has changed is told. One thread at a time.
class TuneDisplay {
 public:
  explicit TuneDisplay(tune::Progress progress);

  void show(const tune::Search& search, bool is_end);
  // A line that stays.
  void say(const std::string& text);

 private:
  void wipe();

  const bool is_terminal_;
  const std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point shown_;
  tune::Progress progress_;
  std::string last_;       // what was shown
  std::size_t drawn_ = 0;  // lines of the table on the terminal
};

}  // namespace ronde::cli
