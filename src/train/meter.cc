#include "ronde/train/meter.h"

#include "ronde/models/loss.h"

#include <cmath>
#include <span>

namespace ronde::train {

namespace {

using torch::Tensor;

// Few and small operations: on a GPU each takes microseconds of every step, whatever its size.
void put_count(const Tensor& place, const Tensor& flags) {
  place.copy_(flags.sum(torch::kFloat64));
}

// top1, top5: how many classes are less likely than the label's; those that are no number are not.
void put_class_values(const Tensor& values, const Tensor& outputs, const Tensor& labels) {
  const auto label_values = outputs.gather(1, labels.view({labels.numel(), 1}));
  const Tensor below = outputs.lt(label_values).sum(1);
  const std::int64_t classes = outputs.size(1);
  const Tensor enough = torch::arange(classes - 1, classes - 6, -4, below.options()).unsqueeze(1);
  Tensor place = values.slice(0, 1, 3);
  at::sum_out(place, below.unsqueeze(0).ge(enough), 1, /*keepdim=*/false, torch::kFloat64);
}

// hits, falses, misses
void put_label_values(const Tensor& values, const Tensor& outputs, const Tensor& targets) {
  const Tensor found = outputs.gt(0), there = targets.gt(0.5);
  put_count(values[3], found.logical_and(there));
  put_count(values[4], found);
  put_count(values[5], there);
  values.slice(0, 4, 6).sub_(values[3]);
}

// A pixel has one class: what is wrong is found falsely and missed at once. Those that are ignored are neither.
void put_mask_values(const Tensor& values, const Tensor& outputs, const Tensor& targets) {
  put_count(values[3], outputs.argmax(1).eq(targets));
  put_count(values[4], targets.ne(models::kIgnoredClass));
  values[4].sub_(values[3]);
  values[5].copy_(values[4]);
}

}  // namespace

Tensor score_values(data::Target target, const Tensor& outputs, const Tensor& targets, const Tensor& loss,
                    std::int64_t room) {
  const torch::NoGradGuard no_grad;
  const Tensor values = torch::zeros({room}, outputs.options().dtype(torch::kFloat64));
  values[0].copy_(loss.detach().squeeze());
  if (target == data::Target::Class) put_class_values(values, outputs, targets);
  if (target == data::Target::Labels) put_label_values(values, outputs, targets);
  if (target == data::Target::Mask) put_mask_values(values, outputs, targets);
  return values;
}

Score score_from_values(const double* values, std::int64_t samples) {
  const auto count = [&](int i) { return std::llround(values[i]); };
  return {.loss = values[0],
          .samples = samples,
          .top1 = count(1),
          .top5 = count(2),
          .hits = count(3),
          .falses = count(4),
          .misses = count(5)};
}

Score score_of(data::Target target, const Tensor& outputs, const Tensor& targets, double mean_loss) {
  const std::int64_t samples = outputs.size(0);
  if (samples == 0) return {};  // the mean of nothing is no number
  const Tensor loss = torch::full({}, mean_loss * static_cast<double>(samples), torch::kFloat64);
  const Tensor values = score_values(target, outputs, targets, loss.to(outputs.device())).to(torch::kCPU);
  return score_from_values(values.const_data_ptr<double>(), samples);
}

Score score_of(const Tensor& outputs, const Tensor& labels, double mean_loss) {
  return score_of(data::Target::Class, outputs, labels, mean_loss);
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
