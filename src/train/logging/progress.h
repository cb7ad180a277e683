#pragma once

#include <chrono>
#include <cstdio>
#include <functional>

#include "ronde/base/system/clock.h"
#include "ronde/train/logging/progress_text.h"

namespace ronde::train {

struct ProgressOptions {
  std::FILE* file = stdout;
  bool terminal = false;                                             // is_terminal(file)
  std::chrono::nanoseconds redraw = std::chrono::milliseconds(100);  // least time between two bars,
  std::chrono::nanoseconds line_every = std::chrono::seconds(5);     // and between two lines
  std::function<std::chrono::nanoseconds()> clock = &monotonic_now;  // for tests
};

// Shows how training goes: on a terminal one line that is drawn over and over, elsewhere a line now and then; and what
// each epoch came to, and all of it. Not thread-safe; for rank 0.
//
//   Progress progress({.terminal = is_terminal(stdout)});
//   if (progress.due()) progress.show(facts);   // asks for facts only when they are shown
class Progress {
 public:
  explicit Progress(ProgressOptions options = {});
  ~Progress();  // leaves a clean line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Whether enough time has passed since what was shown last. Cheap: to be asked every step.
  bool due() const;
  void show(const ProgressFacts& facts);
  void show(const EpochFacts& facts);
  void show(const EvaluationFacts& facts);
  void show(const Summary& summary);

  // Takes the bar away, so that something else can be printed.
  void clear();

 private:
  void print(const std::string& text);  // whole lines

  const ProgressOptions options_;
  std::chrono::nanoseconds shown_at_;
  bool bar_there_ = false;
};

// Columns of the terminal that the file is; 80 where that is not known.
std::size_t terminal_width(std::FILE* file);

}  // namespace ronde::train
