#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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
  struct Moved {
    std::string_view what = {};  // "allreduce"
    std::uint64_t sequence = 0;  // which one of the group, counted by all members alike, recorded or not
    std::size_t requests = 0;    // in it
    std::size_t bytes = 0;       // of their values,
    std::size_t wire = 0;        // and what those took on their way, where they were compressed
    // When this rank asked for the first of them and for the last; zero: it has joined, and asked for none.
    std::chrono::nanoseconds first_arrived{0}, arrived{0};
  };
  void move_ends(const Moved& moved);

 private:
  trace::Recorder* recorder_;
  std::optional<trace::Track> agree_, move_;
  std::chrono::nanoseconds round_began_{0}, round_ended_{0}, ready_began_{0};
  std::chrono::nanoseconds move_began_{0}, wait_began_{0}, waited_{0};
};

}  // namespace ronde::comm::detail
