#pragma once

#include <sys/signalfd.h>

#include <csignal>
#include <initializer_list>
#include <optional>
#include <vector>

#include "ronde/launch/process/descriptor.h"

namespace ronde::launch::detail {

// As long as it lives, signals to this thread (and to threads that it starts) are read from a descriptor instead of
// interrupting; a pipe that nobody reads is an error and no signal; and reading a terminal from the background fails.
class Signals {
 public:
  // Those of `signals` that are ignored, as nohup does it, stay so.
  // FAILS WITH: System.
  explicit Signals(std::initializer_list<int> signals);
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() { restore(); }

  int descriptor() const { return descriptor_.get(); }
  std::optional<signalfd_siginfo> next() const;  // nothing when none has come

  // All as it was before. May be called in a child, after fork and before exec.
  void restore() const noexcept;

 private:
  struct Saved {
    int signal;
    struct sigaction action;
  };
  void change(int signal, void (*handler)(int));

  std::vector<Saved> saved_;
  sigset_t mask_before_{};
  FileDescriptor descriptor_;
};

}  // namespace ronde::launch::detail
