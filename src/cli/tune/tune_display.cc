#include "ronde/cli/tune/tune_display.h"

#include <algorithm>

#include "ronde/base/text/format.h"
#include "ronde/base/text/terminal.h"
#include "ronde/base/text/text.h"
#include "ronde/cli/program/terminal_size.h"
#include "ronde/launch/output/lines.h"

namespace ronde::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLine = std::chrono::seconds(5);
constexpr std::size_t kMostLines = 16;

}  // namespace

TuneDisplay::TuneDisplay(tune::Progress progress)
    : is_terminal_(is_terminal(stderr)), begin_(Clock::now()), shown_(begin_), progress_(progress) {}

void TuneDisplay::wipe() {
  if (drawn_ > 0) fmt::print(stderr, "\x1b[{}A\x1b[J", drawn_);
  drawn_ = 0;
}

void TuneDisplay::say(const std::string& text) {
  wipe();
  fmt::print(stderr, "{}\n", text);
  last_.clear();  // the table is below it
}

void TuneDisplay::show(const tune::Search& search, bool is_end) {
  progress_.elapsed = Clock::now() - begin_;
  if (!is_terminal_) {
    if (!is_end && Clock::now() - shown_ < kLine) return;
    shown_ = Clock::now();
    fmt::print(stderr, "tune: {}\n", tune::headline(search, progress_));
    return;
  }
  const TerminalSize size = terminal_size(stderr);
  const std::string text = tune::overview(search, progress_, std::min(size.lines > 2 ? size.lines - 2 : 1, kMostLines));
  if (text == last_ && !is_end) return;
  wipe();
  last_ = text;
  for (const std::string_view line : split(trim(text), '\n')) {
    fmt::print(stderr, "{}\n", launch::detail::fit(line, size.columns - 1));
    ++drawn_;
  }
  if (is_end) drawn_ = 0;
}

}  // namespace ronde::cli
