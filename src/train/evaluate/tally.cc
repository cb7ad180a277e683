#include "ronde/train/evaluate/tally.h"

#include <cmath>
#include <limits>
#include <span>

#include "ronde/base/error.h"
#include "ronde/models/loss.h"
#include "ronde/train/meter.h"

namespace ronde::train {
namespace {

using data::Target;

// From how often each class was right, found, and there.
std::vector<ClassCount> counts_from(const torch::Tensor& right, const torch::Tensor& found,
                                    const torch::Tensor& there) {
  const torch::Tensor all = torch::stack({right, found - right, there - right}, 1).to(torch::kCPU).contiguous();
  std::vector<ClassCount> counts;
  const auto* numbers = all.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < all.size(0); ++i, numbers += 3)
    counts.push_back({.hits = numbers[0], .falses = numbers[1], .misses = numbers[2]});
  return counts;
}

template <class T>
void append(std::vector<T>& to, const torch::Tensor& tensor) {
  const torch::Tensor values = tensor.to(torch::kCPU).contiguous();
  const T* first = values.const_data_ptr<T>();
  to.insert(to.end(), first, first + values.numel());
}

comm::Buffer rows_of(void* data, comm::DType dtype, std::size_t values, std::int64_t classes) {
  return {.data = data, .dtype = dtype, .shape = {static_cast<std::int64_t>(values) / classes, classes}};
}

}  // namespace

std::vector<ClassCount> label_counts(const torch::Tensor& outputs, const torch::Tensor& targets) {
  const torch::Tensor found = outputs.gt(0), there = targets.gt(0.5);
  return counts_from(found.logical_and(there).sum(0), found.sum(0), there.sum(0));
}

// On the CPU: to count in bins is not deterministic on a GPU.
std::vector<ClassCount> mask_counts(const torch::Tensor& outputs, const torch::Tensor& targets) {
  const std::int64_t classes = outputs.size(1);
  torch::Tensor found = outputs.argmax(1).flatten().to(torch::kCPU), there = targets.flatten().to(torch::kCPU);
  const torch::Tensor counted = there.ne(models::kIgnoredClass);
  found = found.masked_select(counted);
  there = there.masked_select(counted);
  const auto count = [classes](const torch::Tensor& pixels) { return torch::bincount(pixels, {}, classes); };
  return counts_from(count(found.masked_select(found.eq(there))), count(found), count(there));
}

Tally::Tally(Target target, std::int64_t classes, std::vector<MeasureEntry> measures)
    : target_(target), classes_(classes), measures_(std::move(measures)), sums_(measures_.size()) {
  if (target == Target::Labels || target == Target::Mask) mine_.classes.resize(static_cast<std::size_t>(classes));
}

void Tally::add(const torch::Tensor& outputs, const torch::Tensor& targets, double loss) {
  const torch::NoGradGuard no_grad;
  const std::int64_t samples = outputs.size(0);
  if (samples == 0) return;
  add_measures(outputs, targets);
  if (mine_.classes.empty()) {
    mine_.score += score_of(target_, outputs, targets, loss / static_cast<double>(samples));
    return;
  }
  mine_.score += Score{.loss = loss, .samples = samples};
  const auto counts = target_ == Target::Labels ? label_counts(outputs, targets) : mask_counts(outputs, targets);
  for (std::size_t i = 0; i < counts.size(); ++i) mine_.classes[i] += counts[i];
  if (target_ != Target::Labels) return;
  append(scores_, outputs.to(torch::kFloat32));
  append(flags_, targets.gt(0.5).to(torch::kUInt8));
}

Evaluation Tally::together(const comm::Group& group) {
  Evaluation all;
  all.score = sum_over(group, "evaluation", mine_.score);
  sum_measures(group, all);
  if (mine_.classes.empty()) return all;
  all.classes = mine_.classes;
  static_assert(sizeof(ClassCount) == 3 * sizeof(std::int64_t));
  comm::Buffer counts{.data = all.classes.data(),
                      .dtype = comm::DType::I64,
                      .shape = {3 * static_cast<std::int64_t>(all.classes.size())}};
  group.run({.name = "counts of the evaluation", .input = std::move(counts)});
  for (const ClassCount& one : all.classes) {
    all.score.hits += one.hits;
    all.score.falses += one.falses;
    all.score.misses += one.misses;
  }
  if (target_ == Target::Labels) gather_scores(group, all.average_precision);
  return all;
}

void Tally::add_measures(const torch::Tensor& outputs, const torch::Tensor& targets) {
  for (std::size_t i = 0; i < measures_.size(); ++i) {
    const torch::Tensor each = measures_[i].each(outputs.to(torch::kFloat32), targets);
    if (each.sizes() != torch::IntArrayRef{outputs.size(0)})
      throw Error::bad_input("the measure '{}' must give a number for each of the {} samples, but it has shape {}",
                             measures_[i].key, outputs.size(0), c10::str(each.sizes()));
    sums_[i] += each.to(torch::kFloat64).sum().item<double>();
  }
}

void Tally::sum_measures(const comm::Group& group, Evaluation& all) {
  if (measures_.empty()) return;
  std::vector<double> sums = sums_;
  group.run({.name = "measures of the evaluation", .input = comm::buffer_of(std::span<double>(sums))});
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const MeasureEntry& entry = measures_[i];
    const double mean = all.score.samples == 0 ? 0 : sums[i] / static_cast<double>(all.score.samples);
    all.own.push_back({.key = entry.key,
                       .name = entry.name.empty() ? entry.key : entry.name,
                       .value = entry.finish ? entry.finish(mean) : mean,
                       .percent = entry.percent,
                       .lower_is_better = !entry.higher_is_better});
  }
}

// Rank 0 sorts, and tells the others: micro, macro, and one number a class, none for a class that no sample has.
void Tally::gather_scores(const comm::Group& group, AveragePrecision& found) {
  const comm::Result scores = group.run({.operation = comm::Operation::Gather,
                                         .name = "scores of the evaluation",
                                         .input = rows_of(scores_.data(), comm::DType::F32, scores_.size(), classes_)});
  const comm::Result flags = group.run({.operation = comm::Operation::Gather,
                                        .name = "labels of the evaluation",
                                        .input = rows_of(flags_.data(), comm::DType::U8, flags_.size(), classes_)});
  std::vector<double> numbers(static_cast<std::size_t>(classes_) + 2);
  if (group.rank() == 0) {
    const auto count = scores.output.shape.elements();
    found = mean_average_precision({static_cast<const float*>(scores.output.data), count},
                                   {static_cast<const std::uint8_t*>(flags.output.data), count},
                                   static_cast<std::size_t>(classes_));
    numbers[0] = found.mean.micro;
    numbers[1] = found.mean.macro;
    for (std::size_t i = 0; i < found.classes.size(); ++i)
      numbers[2 + i] = found.classes[i].value_or(std::numeric_limits<double>::quiet_NaN());
  }
  group.run({.operation = comm::Operation::Broadcast,
             .name = "average precision",
             .input = comm::buffer_of(std::span<double>(numbers))});
  found = {.mean = {.micro = numbers[0], .macro = numbers[1]}};
  for (const double number : std::span(numbers).subspan(2))
    found.classes.push_back(std::isnan(number) ? std::nullopt : std::optional<double>(number));
}

}  // namespace ronde::train
