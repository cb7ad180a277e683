#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ronde/base/error.h"
#include "ronde/base/math/step_window.h"
#include "ronde/trace/name.h"

namespace ronde::trace {

namespace detail {
class ThreadLog;
}

// A row of the timeline that belongs to no thread, such as "gpu 0 stream 7". Spans on one track must nest or follow one
// another; spans that overlap need a track each (tracks of one name are shown together). A plain value.
class Track {
 private:
  friend class Recorder;
  explicit Track(std::uint32_t id) : id_(id) {}
  std::uint32_t id_;
};

// A span whose times were measured elsewhere, in nanoseconds of CLOCK_MONOTONIC (std::chrono::steady_clock).
struct TimedSpan {
  Name name = {};
  Name category = {};
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

struct RecorderOptions {
  std::filesystem::path folder = {};  // gets trace-00003.perfetto-trace for rank 3; made when missing
  std::filesystem::path file = {};    // instead of `folder`: exactly this file
  int rank = 0;
  int world_size = 1;
  std::string host = {};
  // Memory for events that wait to be written, per rank: rings of 1 MiB (or a sixteenth, if that is less), one a
  // thread. Threads beyond that are not recorded, and their events counted as dropped.
  std::size_t bytes = std::size_t{32} << 20;
  StepWindow steps = {};
  // Which spans are written, by name (trace.filter): "forward,wait*" only these, "-make" all but these; empty: all.
  std::string filter = {};
  bool started = true;  // false: nothing is recorded before start()
};

// Records the spans and counters of one rank and writes them, from a thread of its own, to a file in Perfetto's format
// (ui.perfetto.dev). Several may live in one process, since ranks may be threads.
//
//   Recorder recorder({.folder = "trace", .rank = rank, .host = host});
//   Scope scope(recorder, "training");           // span.h: what this thread records from here on
//   for (...) { recorder.step(n); RONDE_SPAN("forward"); ... }
//
// Safe to call from any thread. Recording never waits and never allocates: what finds no room is dropped and counted.
// In a forked child it does nothing. A crash loses what was recorded in the last 200 ms; the file up to there is
// readable. A write error never reaches the program: recording stops, and error() tells why.
//
// The file. Process, thread and other tracks, nested spans, instants and counters, as Perfetto has them. On the
// process's own track: one "metadata" event for each set_metadata(), one "clock offset" event for each
// set_clock_offset(), and a counter "dropped events" on each thread that lost some. Times are the wall clock at the
// start carried on by CLOCK_MONOTONIC, so that ranks of one machine, and of machines whose clocks NTP keeps, line up
// when files are joined end to end. ClockSnapshots hold clock 64 (this rank's CLOCK_MONOTONIC), 65 (the times in the
// file) and, for each measured offset, 66 (the reference clock): with them a reader can remove what offset and drift
// are left.
class Recorder {
 public:
  // FAILS WITH: BadInput (neither folder nor file, a negative rank, a filter that makes no sense), System (the file
  // cannot be made).
  explicit Recorder(RecorderOptions options);
  // Writes what is left, and the drop count. REQUIRES: every Scope on this recorder is gone.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // The switch of the user; the window of steps is another, and both must be on.
  void start();
  void stop();
  bool recording() const;
  // Calls `listener` with recording() each time that it changes, on the thread that changes it; empty: nobody. For what
  // costs something while it is on and is not recorded here, such as looking at a GPU.
  // REQUIRES: the listener does not throw and calls none of start(), stop(), step(), on_switch().
  void on_switch(std::function<void(bool recording)> listener);

  // Step `n` begins now (and the one before ends): opens or closes the window, and records a span "step" on a track
  // of its own. end_step() ends the last one.
  void step(std::int64_t n);
  void end_step();

  // A Name of text made at run time. Looks it up under a lock and keeps it for good: for names that come again, and
  // called where they are made, not where they are recorded.
  Name intern(std::string_view text);

  // A new track, every time.
  Track track(std::string_view name);
  // Events with their own times. Without a lock on a thread with a Scope on this recorder, with a short one elsewhere.
  // A span is taken if recording was on when it began, which may be long ago.
  void span(Track track, const TimedSpan& span, std::initializer_list<Arg> args = {});
  void counter(Name name, double value, std::int64_t at_ns);

  // Whatever later tools need to know, such as {"flops", a JSON text}. Written whether or not recording is on.
  void set_metadata(std::string_view key, std::string_view value);
  // One measurement: when CLOCK_MONOTONIC of this rank showed local_ns, the reference clock (any that all ranks
  // measured against, such as CLOCK_MONOTONIC of rank 0) showed local_ns + offset_ns. Several over time let drift be
  // removed.
  void set_clock_offset(std::int64_t local_ns, std::int64_t offset_ns);

  // Waits until everything recorded before the call is in the file (or has failed to get there).
  void flush();

  std::uint64_t dropped() const;       // events lost so far for want of room, on all threads
  std::optional<Error> error() const;  // why recording stopped by itself, naming the file
  const std::filesystem::path& file() const;

 private:
  friend class Scope;
  detail::ThreadLog& open_log(std::string_view thread_name);

  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace ronde::trace
