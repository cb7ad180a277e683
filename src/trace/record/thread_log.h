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

  std::uint64_t now() const { return shared_.clock.now(); }

  // These record whether or not recording is on.
  // True when the span was taken, and then end() must follow. `stamp` gives its time.
  template <class Stamp>
  bool begin(const Slot& slot, std::span<const Arg> args, Stamp&& stamp) {
    const bool taken = ring_->begin(slot, args, stamp);
    wake_writer();
    return taken;
  }
  void end(const Slot& slot, std::span<const Arg> args) { ring_->end(slot, args); }
  void event(const Slot& slot, std::span<const Arg> args) {
    ring_->event(slot, args);
    wake_writer();
  }
  // The two ends of a span whose times the caller has filled in, both or none.
  void pair(const Slot& first, const Slot& last, std::span<const Arg> args) {
    if (begin(first, args, [&] { return first.time; })) end(last, {});
  }

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
