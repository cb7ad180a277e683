#include "ronde/train/meter.h"

#include <cmath>
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

namespace {

Score score_of_labels(const torch::Tensor& outputs, const torch::Tensor& targets) {
  const torch::Tensor found = outputs.gt(0), there = targets.gt(0.5);
  const torch::Tensor right = found.logical_and(there).sum();
  const torch::Tensor sums = torch::stack({right, found.sum() - right, there.sum() - right}).to(torch::kCPU);
  const auto* numbers = sums.const_data_ptr<std::int64_t>();
  return {.hits = numbers[0], .falses = numbers[1], .misses = numbers[2]};
}

// A pixel has one class: what is wrong is found falsely and missed at once.
Score score_of_mask(const torch::Tensor& outputs, const torch::Tensor& targets) {
  const auto right = outputs.argmax(1).eq(targets).sum().item<std::int64_t>();
  const std::int64_t wrong = targets.numel() - right;
  return {.hits = right, .falses = wrong, .misses = wrong};
}

}  // namespace

Score score_of(data::Target target, const torch::Tensor& outputs, const torch::Tensor& targets, double mean_loss) {
  if (target == data::Target::Class) return score_of(outputs, targets, mean_loss);
  const torch::NoGradGuard no_grad;
  const std::int64_t samples = outputs.size(0);
  if (samples == 0) return {};
  Score score;
  if (target == data::Target::Labels) score = score_of_labels(outputs, targets);
  if (target == data::Target::Mask) score = score_of_mask(outputs, targets);
  score.loss = mean_loss * static_cast<double>(samples);
  score.samples = samples;
  return score;
}

Score sum_over(const comm::Group& group, const std::string& name, const Score& mine) {
  ScoreNumbers sums = numbers_of(mine);
  group.run({.name = name, .input = comm::buffer_of(std::span<double>(sums))});
  return score_from(sums);
}

ScoreNumbers numbers_of(const Score& score) {
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  return {score.loss,         number(score.samples), number(score.top1),  number(score.top5),
          number(score.hits), number(score.falses),  number(score.misses)};
}

Score score_from(const ScoreNumbers& numbers) {
  const auto count = [&](std::size_t i) { return std::llround(numbers[i]); };
  return {.loss = numbers[0],
          .samples = count(1),
          .top1 = count(2),
          .top5 = count(3),
          .hits = count(4),
          .falses = count(5),
          .misses = count(6)};
}

}  // namespace ronde::train
