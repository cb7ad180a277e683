#pragma once

#include <cstdint>
#include <string>

#include <torch/torch.h>

#include "ronde/comm/group.h"

namespace ronde::train {

// How well a network did on some samples: sums, from which means are made only when they are asked for. So a mean over
// batches and ranks of different sizes is the mean over their samples. A plain value.
struct Score {
  double loss = 0;  // summed over the samples
  std::int64_t samples = 0;
  std::int64_t top1 = 0, top5 = 0;  // samples whose label is the likeliest class, or among the five likeliest

  double mean_loss() const { return mean_of(loss); }
  double accuracy() const { return mean_of(static_cast<double>(top1)); }  // 0 to 1
  double accuracy5() const { return mean_of(static_cast<double>(top5)); }

  Score& operator+=(const Score& other);
  friend bool operator==(const Score&, const Score&) = default;

 private:
  double mean_of(double sum) const { return samples == 0 ? 0 : sum / static_cast<double>(samples); }
};

// The score of one batch. `outputs`: a row of values for each sample, one a class; `labels`: a class for each;
// `mean_loss`: their loss as the criterion gave it. A class that is as likely as the label's counts as likelier, and so
// does a value that is no number: who answers the same for all classes is right by no luck.
// REQUIRES: as many labels as rows.
Score score_of(const torch::Tensor& outputs, const torch::Tensor& labels, double mean_loss);

// The sum over the group's members of their scores, by one allreduce; counts are exact up to 2^53. Every member calls
// it. FAILS WITH: as comm::Handle::wait().
Score sum_over(const comm::Group& group, const std::string& name, const Score& mine);

}  // namespace ronde::train
