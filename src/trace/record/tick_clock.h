#pragma once

#include <cstdint>
#include <vector>

#include "ronde/base/system/clock.h"
#include "ronde/trace/record/cycle_counter.h"

namespace ronde::trace::detail {

inline std::int64_t monotonic_ns() {
  return monotonic_now().count();
}
std::int64_t realtime_ns();

// The clock that is read twice a span. Reading the processor's time stamp counter costs 10 ns where clock_gettime takes
// 24 ns (measured), half the budget of a span; but its ticks mean nothing by themselves, and only a counter that runs
// at one rate on all cores means anything at all. So it is used where the processor promises that rate and the kernel
// trusts it enough to keep its own time by it; anywhere else a tick is a nanosecond of CLOCK_MONOTONIC. Safe from any
// thread.
class TickClock {
 public:
  struct Sample {
    std::uint64_t ticks;
    std::int64_t ns;  // CLOCK_MONOTONIC at that moment
  };
  enum class Source { Counter, Monotonic };

  // REQUIRES: a Counter is steady. best() sees to it.
  explicit TickClock(Source source) : source_(source) {}
  static TickClock best();  // the counter where it can be trusted

  std::uint64_t now() const {
    return source_ == Source::Counter ? read_cycle_counter() : static_cast<std::uint64_t>(monotonic_ns());
  }
  // Both clocks at one moment, to about 20 ns even when the thread is interrupted.
  Sample sample() const;
  const char* name() const { return source_ == Source::Counter ? "tsc" : "clock_monotonic"; }

 private:
  Source source_;
};

// Turns ticks into nanoseconds of CLOCK_MONOTONIC by a line through two samples: the newest, and the newest of those
// that are at least kBaseline older. Between its samples the line is as exact as they are, whatever NTP does to the
// rate; the baseline keeps the slope good when samples come in quick succession. Not thread-safe.
class TickLine {
 public:
  static constexpr std::int64_t kBaseline = 10'000'000;  // 10 ms: 20 ns of noise bend the slope by 2 ppm

  explicit TickLine(TickClock::Sample first);
  void add(TickClock::Sample sample);  // REQUIRES: not older than the last one
  std::int64_t to_ns(std::uint64_t ticks) const;

 private:
  static constexpr std::int64_t kSpacing = 1'000'000;  // samples closer than 1 ms replace each other: bounded memory

  std::vector<TickClock::Sample> samples_;  // oldest first; the line goes through the first and the last
  double ns_per_tick_ = 1.0;
};

}  // namespace ronde::trace::detail
