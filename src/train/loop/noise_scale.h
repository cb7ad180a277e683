#pragma once

#include <optional>
#include <string>

namespace ronde::train {

// What ranks measure of the gradients of one step; sums, which add up over ranks. All zero: nothing was measured.
struct NoiseSums {
  double small = 0;    // squared norms of the mean gradients of parts of the batch: each rank has one part,
  double inverse = 0;  // 1 / samples of these parts,
  double parts = 0;    // and their number
  double big = 0;      // the squared norm of the mean gradient of the whole batch
};

// What one rank contributes. `local`: the squared norm of the gradient that its backward passes made of `samples` of
// the batch's `batch` samples, where losses are summed and multiplied by `weight` (and gradients with them); `reduced`:
// its part of the squared norm of the reduced gradient, whose weight is 1 / batch. Pure.
NoiseSums noise_sums(double local, double reduced, double samples, double weight);

// The gradient noise scale (McCandlish et al.: arXiv:1812.06162, appendix A.1): how many samples a batch must have for
// the noise of its gradient to be as large as the gradient itself. Far below it, twice the batch is worth twice the
// steps; far above it, hardly anything. From the squared norms of gradients of small and of big batches, whose
// expectations are |G|^2 + S / size:
//
//   S     = (small - big) / (1 / small size - 1 / big size)            |G|^2 = big - S / big size
//   scale = mean of S / mean of |G|^2
//
// Means are exponential, over about the last hundred measurements, and taken of both before the division: the ratio of
// single ones would be far off. It is part of no checkpoint: training does not depend on it.
class NoiseScale {
 public:
  // What was measured in a step with batches of so many samples. Nothing, or no finite number: it does not count.
  void add(const NoiseSums& sums, double batch);

  // In samples; nothing before the first measurement, and while the gradient is lost in its noise.
  std::optional<double> value() const;

 private:
  double noise_ = 0, signal_ = 0;  // of S and |G|^2; both lack the same factor, being weighted sums that begin at zero
};

// "a batch of about 1,200 would still pay": two digits are more than is known.
std::string noise_text(double scale);

}  // namespace ronde::train
