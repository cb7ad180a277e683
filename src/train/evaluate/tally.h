#pragma once

#include <cstdint>
#include <vector>

#include <torch/torch.h>

#include "ronde/comm/group.h"
#include "ronde/data/source.h"
#include "ronde/train/loop/results.h"
#include "ronde/train/registry.h"

namespace ronde::train {

// Counts what a rank's batches of an evaluation come to, and brings it together with those of the others: the same
// result for any number of ranks and any batches, up to rounding of the loss. For labels it keeps the outputs, which
// average precision needs all of: classes x samples x 5 bytes on each rank for its own, and on rank 0, which sorts
// them, three times as much for all.
class Tally {
 public:
  Tally(data::Target target, std::int64_t classes, std::vector<MeasureEntry> measures = {});

  // `loss`: summed over the samples. Outputs and targets as models::Loss takes them.
  void add(const torch::Tensor& outputs, const torch::Tensor& targets, double loss);

  // Over all members, of which every one calls it, once. FAILS WITH: as comm::Handle::wait().
  Evaluation together(const comm::Group& group);

 private:
  void add_measures(const torch::Tensor& outputs, const torch::Tensor& targets);
  void sum_measures(const comm::Group& group, Evaluation& all);
  void gather_scores(const comm::Group& group, AveragePrecision& found);

  const data::Target target_;
  const std::int64_t classes_;
  const std::vector<MeasureEntry> measures_;
  std::vector<double> sums_;  // of measures_, over samples
  Evaluation mine_;
  std::vector<float> scores_;        // labels: rows of classes_
  std::vector<std::uint8_t> flags_;  // the same
};

// The counts of a batch, class by class. A label is found where its output is above 0, a pixel's class where its output
// is the highest.
std::vector<ClassCount> label_counts(const torch::Tensor& outputs, const torch::Tensor& targets);
std::vector<ClassCount> mask_counts(const torch::Tensor& outputs, const torch::Tensor& targets);

}  // namespace ronde::train
