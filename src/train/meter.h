#pragma once

#include <array>
#include <string>

#include <torch/torch.h>

#include "ronde/comm/group.h"
#include "ronde/data/source.h"
#include "ronde/train/evaluate/meter_score.h"

namespace ronde::train {

// The score of one batch. `outputs`: a row of values for each sample, one a class; `labels`: a class for each;
// `mean_loss`: their loss as the criterion gave it. A class that is as likely as the label's counts as likelier, and so
// does a value that is no number: who answers the same for all classes is right by no luck.
// REQUIRES: as many labels as rows.
Score score_of(const torch::Tensor& outputs, const torch::Tensor& labels, double mean_loss);

// The score of one batch as numbers where the outputs are, without waiting for them: the loss, top1, top5, hits, falses
// and misses, and zeros after them; f64 [room]. `loss`: summed over the samples, one value.
inline constexpr std::int64_t kScoreValues = 6;
torch::Tensor score_values(data::Target target, const torch::Tensor& outputs, const torch::Tensor& targets,
                           const torch::Tensor& loss, std::int64_t room = kScoreValues);
// What they come to for so many samples.
Score score_from_values(const double* values, std::int64_t samples);

// The score of one batch with targets of any kind, as models::Loss takes them. A label is found where its output is
// above 0, a pixel's class where its output is the highest.
Score score_of(data::Target target, const torch::Tensor& outputs, const torch::Tensor& targets, double mean_loss);

// The sum over the group's members of their scores, by one allreduce; counts are exact up to 2^53. Every member calls
// it. FAILS WITH: as comm::Handle::wait().
Score sum_over(const comm::Group& group, const std::string& name, const Score& mine);

// A score as numbers that add up over ranks, and back.
using ScoreNumbers = std::array<double, 7>;
ScoreNumbers numbers_of(const Score& score);
Score score_from(const ScoreNumbers& numbers);

}  // namespace ronde::train
