#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "ronde/comm/link/link.h"
#include "ronde/trace/recorder.h"

namespace ronde::comm::detail {

// How far this rank's clock is ahead of another's, from meetings at which both said when they came and, one meeting
// later, when they had left. Whoever came before the other left: so each meeting bounds the difference from both
// sides, by how long it took.
class ClockOffset {
 public:
  // My times by my clock, the other's by its own.
  void meeting(std::int64_t my_coming, std::int64_t my_leaving, std::int64_t its_coming, std::int64_t its_leaving) {
    most_ = std::min(most_, my_leaving - its_coming);
    least_ = std::max(least_, my_coming - its_leaving);
  }

  // The clocks are taken for the same one if they may be: then there is no better guess than no difference.
  std::int64_t ahead() const {
    if (least_ > most_) return 0;  // nothing is known
    if (least_ <= 0 && most_ >= 0) return 0;
    return least_ + (most_ - least_) / 2;
  }

 private:
  std::int64_t least_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t most_ = std::numeric_limits<std::int64_t>::max();
};

// Measures against member 0, in a few meetings, and tells the recorder, if there is one. All members call it.
Task align_clocks(Link& link, trace::Recorder* recorder);

}  // namespace ronde::comm::detail
