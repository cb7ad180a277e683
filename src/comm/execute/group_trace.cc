#include "ronde/comm/execute/group_trace.h"

#include <algorithm>

#include "ronde/base/system/clock.h"
#include "ronde/trace/span_names.h"

namespace ronde::comm::detail {
namespace {

constexpr std::chrono::nanoseconds kNone{0};

double microseconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e3;
}

}  // namespace

GroupTrace::GroupTrace(trace::Recorder* recorder, const std::string& group) : recorder_(recorder) {
  if (!recorder) return;
  agree_ = recorder->track("agree: " + group);
  move_ = recorder->track("move: " + group);
}

void GroupTrace::round_begins(std::chrono::nanoseconds first) {
  if (!on()) return;
  round_began_ = monotonic_now();
  ready_began_ = first == kNone ? round_began_ : std::max(first, round_ended_);
}

void GroupTrace::round_ends(trace::Name what) {
  if (!on() || round_began_ == kNone) return;
  round_ended_ = monotonic_now();
  if (ready_began_ < round_began_)
    recorder_->span(*agree_, {.name = trace::span_names::kWaitForReady,
                              .category = "comm",
                              .begin_ns = ready_began_.count(),
                              .end_ns = round_began_.count()});
  recorder_->span(*agree_,
                  {.name = what, .category = "comm", .begin_ns = round_began_.count(), .end_ns = round_ended_.count()});
  round_began_ = kNone;
}

void GroupTrace::move_begins() {
  if (!on()) return;
  move_began_ = monotonic_now();
  wait_began_ = kNone;
  waited_ = kNone;
}

void GroupTrace::move_waits() {
  if (on() && move_began_ != kNone && wait_began_ == kNone) wait_began_ = monotonic_now();
}

void GroupTrace::move_resumes() {
  if (wait_began_ == kNone) return;
  const auto now = monotonic_now();
  waited_ += now - wait_began_;
  if (on())
    recorder_->span(*move_, {.name = trace::span_names::kWaitForPeers,
                             .category = "comm",
                             .begin_ns = wait_began_.count(),
                             .end_ns = now.count()});
  wait_began_ = kNone;
}

void GroupTrace::move_ends(const Moved& moved) {
  if (!on() || move_began_ == kNone) return;
  const auto now = monotonic_now();
  // Since when it was there. A bucket may be agreed on and moved in one go with the request that completes it.
  const auto since = [&](std::chrono::nanoseconds arrived) {
    return arrived == kNone ? 0.0 : microseconds(std::max(move_began_ - arrived, kNone));
  };
  recorder_->span(*move_,
                  {.name = recorder_->intern(moved.what),
                   .category = "comm",
                   .begin_ns = move_began_.count(),
                   .end_ns = now.count()},
                  {{"bytes", moved.bytes},
                   {"wire_bytes", moved.wire},
                   {"requests", moved.requests},
                   {"sequence", moved.sequence},
                   {"arrived_us", since(moved.arrived)},
                   {"first_arrived_us", since(moved.first_arrived)},
                   {"waiting_us", microseconds(waited_)},
                   {"moving_us", microseconds(now - move_began_ - waited_)}});
  move_began_ = kNone;
}

}  // namespace ronde::comm::detail
