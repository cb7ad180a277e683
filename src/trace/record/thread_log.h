#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ronde/trace/record/ring.h"
#include "ronde/trace/record/tick_clock.h"
#include "ronde/trace/record/wake.h"

namespace ronde::trace::detail {

// What a thread needs at hand to record: its ring, the switch, the clock and the writer's bell.
// The recording functions belong to the one thread whose Scope holds the log; the rest to the writer.
class ThreadLog {
 public:
  struct Shared {
    const std::atomic<bool>& recording;
    TickClock clock;
    Wake& wake;
  };
  struct Label {
    std::string name;
    std::int64_t tid = 0;  // 0: not a thread, and without a track of its own
    std::uint32_t track = 0;
  };

  ThreadLog(Shared shared, std::unique_ptr<Ring> ring, Label label)
      : shared_(shared), ring_(std::move(ring)), label_(std::move(label)) {}

  // Whether this is a log of the recorder with that switch.
  bool belongs_to(const std::atomic<bool>& recording) const { return &shared_.recording == &recording; }
  bool recording() const { return shared_.recording.load(std::memory_order_relaxed); }

  // True when the span was taken, and then end() must follow.
  bool begin(Name name, Name category, std::span<const Arg> args);
  void end(std::span<const Arg> args);
  void instant(Name name, Name category, std::span<const Arg> args);
  void counter(Slot::Kind kind, Name name, std::uint64_t bits);
  // An event whose time and track the caller has filled in, whether or not recording is on.
  void event(const Slot& slot, std::span<const Arg> args);
  // The two ends of a span of that sort, both or none.
  void pair(const Slot& begin, const Slot& end, std::span<const Arg> args);

  std::size_t open_spans() const { return ring_->open(); }

  // The thread will record no more; the writer may take the log back once it has read everything.
  void finish() { finished_.store(true, std::memory_order_release); }

  // --- the writer's
  bool finished() const { return finished_.load(std::memory_order_acquire); }
  Ring& ring() { return *ring_; }
  std::unique_ptr<Ring> take_ring() { return std::move(ring_); }
  const Label& label() const { return label_; }

  struct Progress {
    bool described = false;
    std::int64_t last_ns = 0;  // of the events written: they never go back in time
    std::uint64_t dropped = 0;
  };
  Progress progress = {};

 private:
  void wake_writer() {
    if (ring_->wants_wake()) shared_.wake.ring();
  }

  Shared shared_;
  std::unique_ptr<Ring> ring_;
  const Label label_;
  std::atomic<bool> finished_{false};
};

}  // namespace ronde::trace::detail
