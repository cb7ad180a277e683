#include "ronde/train/meter.h"

#include <cmath>
#include <span>
#include <vector>

namespace ronde::train {

namespace {

using torch::Tensor;

// Few and small operations: on a GPU each takes microseconds of every step, whatever its size.
Tensor count_f64(const Tensor& flags) {
  return flags.sum(torch::kFloat64).view({1});
}

// top1, top5
std::vector<Tensor> class_values(const Tensor& outputs, const Tensor& labels) {
  const auto label_values = outputs.gather(1, labels.view({labels.numel(), 1}));
  const auto below =
      outputs.lt(label_values).sum(1);  // how many classes are less likely; those that are no number are not
  return {count_f64(below.ge(outputs.size(1) - 1)), count_f64(below.ge(outputs.size(1) - 5))};
}

// hits, falses, misses
std::vector<Tensor> label_values(const Tensor& outputs, const Tensor& targets) {
  const Tensor found = outputs.gt(0), there = targets.gt(0.5);
  const Tensor right = count_f64(found.logical_and(there));
  return {right, count_f64(found) - right, count_f64(there) - right};
}

// A pixel has one class: what is wrong is found falsely and missed at once.
std::vector<Tensor> mask_values(const Tensor& outputs, const Tensor& targets) {
  const Tensor right = count_f64(outputs.argmax(1).eq(targets)), wrong = targets.numel() - right;
  return {right, wrong, wrong};
}

}  // namespace

Tensor score_values(data::Target target, const Tensor& outputs, const Tensor& targets, const Tensor& loss) {
  const torch::NoGradGuard no_grad;
  std::vector<Tensor> values{loss.detach().to(torch::kFloat64).view({1})};
  const Tensor none = torch::zeros({target == data::Target::Class ? 3 : 2}, values[0].options());
  const auto add = [&](const std::vector<Tensor>& more) { values.insert(values.end(), more.begin(), more.end()); };
  if (target == data::Target::Class) add(class_values(outputs, targets));
  values.push_back(none);
  if (target == data::Target::Labels) add(label_values(outputs, targets));
  if (target == data::Target::Mask) add(mask_values(outputs, targets));
  if (target == data::Target::Input) values.push_back(torch::zeros({3}, none.options()));
  return torch::cat(values);
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
