#include "ronde/trace/shared_clock.h"

#include <algorithm>
#include <cmath>

namespace ronde::trace {
namespace {

constexpr std::int64_t kSpacing = 1'000'000'000;
// Crystals are wrong by a ten-thousandth at most. More is a damaged file, and must not turn time around.
constexpr double kMostDrift = 1e-3;

}  // namespace

void SharedClock::add(const ReadClocks& clocks) {
  if (!clocks.reference) return;
  const std::int64_t ahead = *clocks.reference - clocks.trace;  // no overflow: a reader gives times up to 2^61
  if (knots_.empty()) {
    first_ = clocks.trace;
    base_ = ahead;
  }
  const std::int64_t since = knots_.empty() ? kSpacing : clocks.trace - knots_.back().first;
  if (since < 0) return;
  if (since >= kSpacing) knots_.push_back({.first = clocks.trace});
  Knot& knot = knots_.back();
  ++knot.count;
  knot.at += (static_cast<double>(clocks.trace - first_) - knot.at) / knot.count;
  knot.ahead += (static_cast<double>(ahead - base_) - knot.ahead) / knot.count;
}

double SharedClock::ahead(double at) const {
  const auto line = [at](const Knot& from, const Knot& a, const Knot& b) {
    const double time = b.at - a.at;
    const double drift = time > 0 ? std::clamp((b.ahead - a.ahead) / time, -kMostDrift, kMostDrift) : 0;
    return from.ahead + drift * (at - from.at);
  };
  const Knot &first = knots_.front(), &last = knots_.back();
  if (at <= first.at) return line(first, first, last);
  if (at >= last.at) return line(last, first, last);
  const auto next = std::ranges::upper_bound(knots_, at, {}, &Knot::at);
  return line(*(next - 1), *(next - 1), *next);
}

std::int64_t SharedClock::to_shared(std::int64_t trace) const {
  if (knots_.empty()) return trace;
  return trace + base_ + std::llround(ahead(static_cast<double>(trace - first_)));
}

}  // namespace ronde::trace
