#include "ronde/comm/watch/clock_offset.h"

#include "ronde/base/system/clock.h"

namespace ronde::comm::detail {

Task align_clocks(Link& link, trace::Recorder* recorder) {
  constexpr int kMeetings = 8;
  ClockOffset offset;
  std::int64_t coming = 0, leaving = 0, its_coming = 0;
  for (int meeting = 0; meeting <= kMeetings; ++meeting) {
    const std::int64_t now = monotonic_now().count();
    std::vector<std::uint64_t> mine(2), all;
    mine[0] = static_cast<std::uint64_t>(now);
    mine[1] = static_cast<std::uint64_t>(leaving);
    co_await link.share(mine, all);
    if (meeting > 0) offset.meeting(coming, leaving, its_coming, static_cast<std::int64_t>(all[1]));
    coming = now;
    leaving = monotonic_now().count();
    its_coming = static_cast<std::int64_t>(all[0]);
  }
  if (recorder) recorder->set_clock_offset(leaving, -offset.ahead());
}

}  // namespace ronde::comm::detail
