#pragma once

#include <cstdint>

namespace ronde::train {

// How well a network did on some samples: sums, from which means are made only when they are asked for. So a mean over
// batches and ranks of different sizes is the mean over their samples. A plain value.
struct Score {
  double loss = 0;  // summed over the samples
  std::int64_t samples = 0;
  std::int64_t top1 = 0, top5 = 0;  // samples whose label is the likeliest class, or among the five likeliest
  // Of labels, or of the classes of pixels, all classes together: found where they are, found where they are not,
  // missed.
  std::int64_t hits = 0, falses = 0, misses = 0;

  double mean_loss() const { return mean_of(loss); }
  double accuracy() const { return mean_of(static_cast<double>(top1)); }  // 0 to 1
  double accuracy5() const { return mean_of(static_cast<double>(top5)); }

  Score& operator+=(const Score& other) {
    loss += other.loss;
    samples += other.samples;
    top1 += other.top1;
    top5 += other.top5;
    hits += other.hits;
    falses += other.falses;
    misses += other.misses;
    return *this;
  }
  friend bool operator==(const Score&, const Score&) = default;

 private:
  double mean_of(double sum) const { return samples == 0 ? 0 : sum / static_cast<double>(samples); }
};

}  // namespace ronde::train
