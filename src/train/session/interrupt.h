#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace ronde::train {

// While it lives, signals that ask a training to stop are kept for the program to look at:
//
//   Ctrl-C (SIGINT)   the user wants it to end; the second one ends the process at once, with exit code 130
//   SIGTERM, SIGUSR1  a scheduler says that time is nearly over: write a checkpoint, to be continued. A second SIGTERM
//                     ends the process at once, with exit code 143, unless it comes so soon that it is an echo of the
//                     first: several processes between the scheduler and us may have passed the same one on.
//
// One a process at a time.
class Interrupt {
 public:
  static constexpr std::chrono::milliseconds kEcho{500};

  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool asked() const;                                 // by SIGINT
  std::optional<std::string> asked_to_leave() const;  // the signal: "SIGTERM" or "SIGUSR1"
};

inline constexpr int kInterruptedExit = 130;
inline constexpr int kTerminatedExit = 143;
inline constexpr int kToBeContinuedExit = 75;

}  // namespace ronde::train
