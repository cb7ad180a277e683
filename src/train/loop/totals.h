#pragma once

#include <array>
#include <optional>

#include "ronde/comm/group.h"
#include "ronde/train/loop/noise_scale.h"
#include "ronde/train/meter.h"

namespace ronde::train {

// What a step came to. Sums, which add up over ranks.
struct Totals {
  std::int64_t step = 0;     // whose score this is; 0: of none yet. It and
  double learning_rate = 0;  // the rate are the same on all ranks, and do not travel
  Score score = {};
  double input_wait = 0, comm_wait = 0;  // seconds
  double interrupted = 0;                // ranks that were asked to stop,
  double keep = 0;                       // that find it is time for a checkpoint,
  double leave = 0;                      // and that want to stop with one, to be continued
  NoiseSums noise = {};                  // of gradients, in steps where it is measured
};

// The totals of each step over all ranks, one exchange late: ranks then never wait for them.
class TotalsOfSteps {
 public:
  explicit TotalsOfSteps(comm::Group group) : group_(std::move(group)) {}

  // This rank's totals. Returns those of all ranks that were exchanged before, if any were.
  // FAILS WITH: as Handle::wait().
  std::optional<Totals> exchange(const Totals& mine);
  // Those that were exchanged last, once.
  std::optional<Totals> last();

 private:
  static constexpr std::size_t kOwn = 9;  // numbers before those of the score
  using Numbers = std::array<double, kOwn + std::tuple_size_v<ScoreNumbers>>;
  static Numbers numbers_of(const Totals& totals);
  static Totals totals_of(const Numbers& numbers);

  comm::Group group_;
  Numbers travelling_{};
  std::int64_t step_ = 0;  // of what travels
  double learning_rate_ = 0;
  comm::Handle handle_;
};

}  // namespace ronde::train
