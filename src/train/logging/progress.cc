#include "ronde/train/logging/progress.h"

#include <utility>

#include <sys/ioctl.h>

#include "ronde/base/text/format.h"

namespace ronde::train {
namespace {

// That nobody can read it any more (a full disk, a closed pipe) is no reason to stop training.
void put(std::FILE* file, const std::string& text) {
  std::fputs(text.c_str(), file);
  std::fflush(file);
}

}  // namespace

std::size_t terminal_width(std::FILE* file) {
  struct winsize size {};
  if (::ioctl(::fileno(file), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

// A bar comes at once, so that one sees that it works; the first line only when there is something to tell.
Progress::Progress(ProgressOptions options) : options_(std::move(options)), shown_at_(options_.clock()) {
  if (options_.terminal) shown_at_ -= options_.redraw;
}

Progress::~Progress() {
  clear();
}

bool Progress::due() const {
  return options_.clock() - shown_at_ >= (options_.terminal ? options_.redraw : options_.line_every);
}

void Progress::show(const ProgressFacts& facts) {
  if (!options_.terminal) return print(progress_line(facts) + "\n");
  // One column stays free: some terminals go to the next line after the last one. \x1b[K clears what is left over.
  const std::size_t width = terminal_width(options_.file);
  put(options_.file, fmt::format("\r{}\x1b[K", progress_bar(facts, width > 1 ? width - 1 : 1)));
  bar_there_ = true;
  shown_at_ = options_.clock();
}

void Progress::show(const EpochFacts& facts) {
  print(epoch_line(facts) + "\n");
}

void Progress::show(const EvaluationFacts& facts) {
  print(evaluation_line(facts) + "\n");
}

void Progress::show(const Summary& summary) {
  print(fmt::format("\n{}", summary_text(summary)));
}

void Progress::clear() {
  if (!std::exchange(bar_there_, false)) return;
  put(options_.file, "\r\x1b[K");
}

void Progress::print(const std::string& text) {
  clear();
  put(options_.file, text);
  shown_at_ = options_.clock();
}

}  // namespace ronde::train
