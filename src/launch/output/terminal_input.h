#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "ronde/launch/process/descriptor.h"
#include "ronde/launch/process/poller.h"

namespace ronde::launch::detail {

// Copies what is typed at the terminal (standard input) into a pipe. Rank 0 reads the pipe: it is in a background
// group, so reading the terminal itself would stop it.
class TerminalInput {
 public:
  explicit TerminalInput(FileDescriptor to);  // an empty one: there is nothing to copy

  // Adds what it waits for to a round; returns when to look again in any case.
  std::optional<Poller::Time> watch(Poller& poller);

 private:
  void copy_in();
  void copy_out();

  FileDescriptor to_;
  std::string typed_;    // not yet written
  Poller::Time rest_{};  // until then the terminal is not ours: we are in the background
};

}  // namespace ronde::launch::detail
