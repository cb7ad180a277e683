#include "ronde/train/loop/time_limit.h"

#include <algorithm>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"

namespace ronde::train {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::system_clock;

constexpr int kSteps = 3;        // that may pass: one is on its way, one carries the decision, one may be slow
constexpr int kCheckpoints = 2;  // one is on its way, or this one is slow
constexpr auto kEnding = seconds(1);
constexpr std::int64_t kLatest = 9'000'000'000;  // in 2255; milliseconds lie far beyond
constexpr double kForget = 0.98;                 // a slow step is forgotten after a hundred others

nanoseconds until(std::int64_t end, system_clock::time_point now) {
  return seconds(end) - std::chrono::duration_cast<nanoseconds>(now.time_since_epoch());
}

nanoseconds left_of(std::string_view key, std::int64_t end, system_clock::time_point now, std::string_view hint) {
  if (end > kLatest) throw Error::bad_input("{} is {}, which is not a time in seconds since 1970 UTC", key, end);
  const nanoseconds left = until(end, now);
  if (left.count() <= 0) throw Error::bad_input("{} is {}, which was {} ago{}", key, end, format_duration(-left), hint);
  return left;
}

nanoseconds parse_deadline(const std::string& text, system_clock::time_point now) {
  if (const auto end = parse_number<std::int64_t>(trim(text))) {
    const bool meant_seconds = *end > 0 && *end < 100'000'000;  // before 1973
    return left_of(
        "train.deadline", *end, now,
        meant_seconds
            ? fmt::format(": a plain number means seconds since 1970 UTC; for a time from now write '{}s'", *end)
            : std::string());
  }
  try {
    const auto left = parse_duration(text);
    if (left.count() > 0) return left;
  } catch (const Error&) {  // said better below
  }
  throw Error::bad_input("train.deadline is '{}': write a time from now (2h), or seconds since 1970 UTC", text);
}

}  // namespace

std::optional<nanoseconds> time_left(const TrainingOptions& options, system_clock::time_point now) {
  std::optional<nanoseconds> left;
  if (const std::string text = options.deadline; !trim(text).empty()) left = parse_deadline(text, now);
  if (const std::int64_t end = options.job_deadline; end != 0) {
    const nanoseconds job = left_of("launch.deadline", end, now, ": the time of the job ended before training began");
    left = std::min(left.value_or(job), job);
  }
  return left;
}

nanoseconds time_needed(const TimeNeeds& needs) {
  return kSteps * needs.step + kCheckpoints * needs.checkpoint + needs.evaluation + kEnding;
}

void TimeLimit::step_ended(Time now) {
  const nanoseconds faded(static_cast<std::int64_t>(kForget * static_cast<double>(longest_.count())));
  longest_ = std::max(now - before_, faded);
  before_ = now;
}

bool TimeLimit::over(Time now, TimeNeeds needs) const {
  needs.step = longest_;
  return end_ && *end_ - now <= time_needed(needs);
}

std::optional<nanoseconds> TimeLimit::left(Time now) const {
  if (!end_) return {};
  return *end_ - now;
}

}  // namespace ronde::train
