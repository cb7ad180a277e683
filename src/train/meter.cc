#include "ronde/train/meter.h"

#include <array>
#include <span>

namespace ronde::train {

Score score_of(const torch::Tensor& outputs, const torch::Tensor& labels, double mean_loss) {
  const torch::NoGradGuard no_grad;
  const std::int64_t samples = labels.numel();
  if (samples == 0) return {};  // the mean of nothing is no number
  const auto label_values = outputs.gather(1, labels.view({samples, 1}));
  const auto place = outputs.lt(label_values).logical_not_().sum(1);  // 1: the likeliest
  const auto within = [&](std::int64_t most) { return place.le(most).sum().item<std::int64_t>(); };
  return {.loss = mean_loss * static_cast<double>(samples), .samples = samples, .top1 = within(1), .top5 = within(5)};
}

Score sum_over(const comm::Group& group, const std::string& name, const Score& mine) {
  std::array sums = {mine.loss, static_cast<double>(mine.samples), static_cast<double>(mine.top1),
                     static_cast<double>(mine.top5)};
  group.run({.name = name, .input = comm::buffer_of(std::span<double>(sums))});
  const auto count = [&](std::size_t i) { return static_cast<std::int64_t>(sums[i]); };
  return {.loss = sums[0], .samples = count(1), .top1 = count(2), .top5 = count(3)};
}

}  // namespace ronde::train
