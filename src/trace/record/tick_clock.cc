#include "ronde/trace/record/tick_clock.h"

#include <fstream>
#include <limits>
#include <string>

namespace ronde::trace::detail {
namespace {

// The kernel compares the counters of all cores and gives them up when they disagree.
bool kernel_trusts_counter() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  return static_cast<bool>(file >> source) && source == "tsc";
}

}  // namespace

std::int64_t realtime_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

TickClock TickClock::best() {
  return TickClock(cycle_counter_is_steady() && kernel_trusts_counter() ? Source::Counter : Source::Monotonic);
}

TickClock::Sample TickClock::sample() const {
  if (source_ == Source::Monotonic) {
    const std::int64_t ns = monotonic_ns();
    return {static_cast<std::uint64_t>(ns), ns};
  }
  Sample best{};
  std::uint64_t narrowest = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < 8; ++i) {  // an interrupt in between makes a wide bracket: the narrowest is the honest one
    const std::uint64_t before = now();
    const std::int64_t ns = monotonic_ns();
    const std::uint64_t width = now() - before;
    if (width < narrowest) {
      narrowest = width;
      best = {before + width / 2, ns};
    }
  }
  return best;
}

TickLine::TickLine(TickClock::Sample first) : samples_{first} {}

void TickLine::add(TickClock::Sample sample) {
  if (samples_.size() > 1 && sample.ns - samples_[samples_.size() - 2].ns < kSpacing) samples_.pop_back();
  samples_.push_back(sample);
  std::size_t start = 0;
  while (start + 2 < samples_.size() && sample.ns - samples_[start + 1].ns >= kBaseline) ++start;
  samples_.erase(samples_.begin(), samples_.begin() + static_cast<std::ptrdiff_t>(start));
  const std::uint64_t ticks = sample.ticks - samples_.front().ticks;
  if (ticks > 0) ns_per_tick_ = static_cast<double>(sample.ns - samples_.front().ns) / static_cast<double>(ticks);
}

std::int64_t TickLine::to_ns(std::uint64_t ticks) const {
  const TickClock::Sample& newest = samples_.back();
  const auto distance = static_cast<std::int64_t>(ticks - newest.ticks);  // negative before the newest sample
  return newest.ns + static_cast<std::int64_t>(static_cast<double>(distance) * ns_per_tick_);
}

}  // namespace ronde::trace::detail
