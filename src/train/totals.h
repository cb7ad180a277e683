#pragma once

#include <array>
#include <optional>

#include <torch/torch.h>

#include "ronde/comm/group.h"
#include "ronde/models/loss.h"

namespace ronde::train {

// Sums that add up over batches and over ranks, exactly for counts.
struct Totals {
  double loss = 0;          // summed over samples
  double correct = 0;       //
  double samples = 0;       //
  double input_wait = 0;    // seconds, summed over ranks
  double comm_wait = 0;     // seconds, summed over ranks
  double interrupted = 0;   // ranks that were asked to stop

  void count(const torch::Tensor& outputs, const torch::Tensor& labels, const models::Loss& loss_sum);

  double mean_loss() const { return samples > 0 ? loss / samples : 0; }
  double accuracy() const { return samples > 0 ? correct / samples : 0; }

  Totals& operator+=(const Totals& other);
  Totals over_all(const comm::Group& group) const;  // waits
};

// The totals of each step over all ranks, one step late: ranks then never wait for them.
class TotalsOfSteps {
 public:
  explicit TotalsOfSteps(comm::Group group) : group_(std::move(group)) {}

  // This rank's totals of the step that has just ended. Returns those of all ranks for the step before, if there was
  // one. FAILS WITH: as Handle::wait().
  std::optional<Totals> exchange(const Totals& mine);
  // Those of the last step.
  std::optional<Totals> last();

 private:
  comm::Group group_;
  std::array<double, 6> travelling_{};
  comm::Handle handle_;
};

}  // namespace ronde::train
