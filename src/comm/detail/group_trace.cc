#include "ronde/comm/detail/group_trace.h"

#include <algorithm>

#include "ronde/base/clock.h"

namespace ronde::comm::detail {
namespace {

constexpr std::chrono::nanoseconds kNone{0};

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
    recorder_->span(*agree_, {.name = "wait for ready",
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
    recorder_->span(
        *move_, {.name = "wait for peers", .category = "comm", .begin_ns = wait_began_.count(), .end_ns = now.count()});
  wait_began_ = kNone;
}

void GroupTrace::move_ends(std::string_view what, std::size_t requests, std::size_t bytes, std::size_t wire) {
  if (!on() || move_began_ == kNone) return;
  const auto now = monotonic_now();
  recorder_->span(
      *move_,
      {.name = recorder_->intern(what), .category = "comm", .begin_ns = move_began_.count(), .end_ns = now.count()},
      {{"bytes", bytes},
       {"wire_bytes", wire},
       {"requests", requests},
       {"waiting_us", static_cast<double>(waited_.count()) / 1e3},
       {"moving_us", static_cast<double>((now - move_began_ - waited_).count()) / 1e3}});
  move_began_ = kNone;
}

}  // namespace ronde::comm::detail
