#pragma once

#include <array>
#include <optional>

#include "ronde/comm/group.h"
#include "ronde/train/meter.h"

namespace ronde::train {

// What a step came to. Sums, which add up over ranks.
struct Totals {
  Score score;
  double input_wait = 0, comm_wait = 0;  // seconds
  double interrupted = 0;                // ranks that were asked to stop,
  double keep = 0;                       // that find it is time for a checkpoint,
  double leave = 0;                      // and that want to stop with one, to be continued
};

// The totals of each step over all ranks, one step late: ranks then never wait for them.
class TotalsOfSteps {
 public:
  explicit TotalsOfSteps(comm::Group group) : group_(std::move(group)) {}

  // This rank's totals of the step that has just ended. Returns those of all ranks for the step before, if there was
  // one. FAILS WITH: as Handle::wait().
  std::optional<Totals> exchange(const Totals& mine);
  // Those of the last step, once.
  std::optional<Totals> last();

 private:
  using Numbers = std::array<double, 9>;
  static Numbers numbers_of(const Totals& totals);
  static Totals totals_of(const Numbers& numbers);

  comm::Group group_;
  Numbers travelling_{};
  comm::Handle handle_;
};

}  // namespace ronde::train
