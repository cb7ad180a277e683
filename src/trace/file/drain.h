#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "ronde/base/system/mutex.h"
#include "ronde/trace/file/packets.h"
#include "ronde/trace/record/log_book.h"
#include "ronde/trace/record/span_filter.h"
#include "ronde/trace/record/tick_clock.h"

namespace ronde::trace::detail {

// The number of the track that has the steps. 0 is the process; further tracks and threads are numbered as they come.
inline constexpr std::uint32_t kStepTrack = 1;

// What is told to the recorder now and then, and goes to the writer by a list instead of a ring.
struct NewTrack {
  std::uint32_t track;
  std::string name;
};
struct Metadata {
  std::string key, value;
};
struct ClockOffset {
  std::int64_t local_ns, offset_ns;
};
using Note = std::variant<NewTrack, Metadata, ClockOffset>;

class Notes {  // Thread-safe.
 public:
  void add(Note note) {
    const Lock lock(mutex_);
    notes_.push_back(std::move(note));
  }
  std::vector<Note> take() {
    const Lock lock(mutex_);
    return std::exchange(notes_, {});
  }

 private:
  Mutex mutex_;
  std::vector<Note> notes_ RONDE_GUARDED_BY(mutex_);
};

// Takes what the threads recorded and turns it into packets. For the writer's thread alone.
class Drain {
 public:
  using Sink = std::function<void(std::string_view packets)>;  // is given whole packets; must not throw
  struct Options {
    int rank;
    std::string process_name;
    std::int64_t pid;
    SpanFilter filter = {};  // of spans; steps, instants, counters and metadata are written in any case
  };

  Drain(LogBook& logs, Notes& notes, TickClock clock, const Options& options, Sink sink);

  // Everything that was recorded before the call goes to the sink.
  void run();
  // Nanoseconds of CLOCK_MONOTONIC to those of the trace.
  std::int64_t trace_time(std::int64_t monotonic) const { return monotonic + base_; }

 private:
  void write_note(const Note& note);
  void drain_log(ThreadLog& log, std::uint64_t until);
  void write_event(ThreadLog& log, const Slot& slot);  // with args_
  bool is_kept(const Slot& slot, std::uint32_t track);
  void write_drops(ThreadLog& log);
  void flush();

  LogBook& logs_;
  Notes& notes_;
  const TickClock clock_;
  const Sink sink_;
  const std::int64_t base_;
  TickLine line_;
  std::string text_;  // packets not yet given to the sink
  PacketWriter packets_;
  std::vector<Slot> args_;  // of one event; here so that it keeps its memory

  const SpanFilter filter_;
  std::unordered_map<const char*, bool> kept_names_;                // what the filter said; a text stays where it is
  std::unordered_map<std::uint32_t, std::vector<bool>> open_kept_;  // by track: of each open span, whether it is kept
};

}  // namespace ronde::trace::detail
