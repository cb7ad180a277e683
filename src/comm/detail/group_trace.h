#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "ronde/trace/recorder.h"

namespace ronde::comm::detail {

// What a group records: on one track how it agrees (waiting for the program, then for the others), on another how it
// moves data, with the time it waited for peers inside. Without a recorder it does nothing.
class GroupTrace {
 public:
  GroupTrace(trace::Recorder* recorder, const std::string& group);

  bool on() const { return recorder_ && recorder_->recording(); }

  // A round begins; its bucket's first request was submitted at `first` (zero: unknown).
  void round_begins(std::chrono::nanoseconds first);
  void round_ends(trace::Name what);

  void move_begins();
  // The task that moves data cannot go on, or goes on.
  void move_waits();
  void move_resumes();
  // `wire`: what the values took on their way, where `bytes` of them were compressed.
  void move_ends(std::string_view what, std::size_t requests, std::size_t bytes, std::size_t wire);

 private:
  trace::Recorder* recorder_;
  std::optional<trace::Track> agree_, move_;
  std::chrono::nanoseconds round_began_{0}, round_ended_{0}, ready_began_{0};
  std::chrono::nanoseconds move_began_{0}, wait_began_{0}, waited_{0};
};

}  // namespace ronde::comm::detail
