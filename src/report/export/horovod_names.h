#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What Ronde records of communication, under the names that Horovod's timeline has for it:
//
//   collective on "move: GROUP"       ALLREDUCE, ALLGATHER, BROADCAST, ALLTOALL, REDUCESCATTER ...
//   "vote", "negotiate"               NEGOTIATE_ALLREDUCE and so on, by the collective that came of it
//   "wait for ready" before them      WAIT_FOR_OTHER_TENSOR_DATA, where several tensors are fused; else WAIT_FOR_DATA
//   from there to the collective      QUEUE: the one before has not ended
//   the beginning of a round          CYCLE_START, an instant
//
// MEMCPY_IN_FUSION_BUFFER and MEMCPY_OUT_FUSION_BUFFER have nothing that corresponds: tensors are packed piece by piece
// while others move, inside the collective.
namespace ronde::report::exporting {

// "allreduce" -> "ALLREDUCE", "reduce_scatter" -> "REDUCESCATTER".
std::string horovod_operation(std::string_view name);

struct TimelineSpan {
  std::int64_t begin = 0, end = 0;
  std::string name = {};
  std::string args = {};  // as the caller writes them

  friend bool operator==(const TimelineSpan&, const TimelineSpan&) = default;
};

// Joins the rounds of one group on one rank with the collectives that came of them. Both may be told in any order:
// several threads record them, and a file has one thread after the other. Not thread-safe.
class Negotiations {
 public:
  struct Collective {
    std::string name = {};
    std::int64_t begin = 0, end = 0;
    std::optional<std::int64_t> arrival = {};  // of the rank's last request for it, where that is known
    std::int64_t requests = 1;
  };
  struct Named {
    std::vector<TimelineSpan> agree = {};   // for the row of agreements
    std::vector<TimelineSpan> queue = {};   // for a row of its own: never two at a time
    std::vector<std::int64_t> cycles = {};  // beginnings of rounds
  };

  void agreed(TimelineSpan span) { rounds_.push_back(std::move(span)); }  // a span of the row of agreements
  void moved(Collective collective) { collectives_.push_back(std::move(collective)); }
  std::size_t size() const { return rounds_.size() + collectives_.size(); }

  // The older half, by its new names; the rest waits for what may still be told.
  Named take_half();
  // All of it; what led to no collective keeps its name.
  Named take_all();

 private:
  void take(std::size_t collectives, Named& named);
  void take_rest(std::size_t rounds, Named& named);

  std::vector<TimelineSpan> rounds_;
  std::vector<Collective> collectives_;
  std::int64_t last_begin_ = 0, last_end_ = 0;  // of the collective before
};

}  // namespace ronde::report::exporting
