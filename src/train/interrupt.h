#pragma once

namespace ronde::train {

// While it lives, the first Ctrl-C (SIGINT) is kept for the program to look at, and the second ends the process at once
// with exit code 130. One a process at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool asked() const;
};

inline constexpr int kInterruptedExit = 130;

}  // namespace ronde::train
