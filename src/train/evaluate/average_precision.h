#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ronde/train/evaluate/class_counts.h"

// Average precision, exact: nothing is put into bins. Pure, without torch.
namespace ronde::train {

// What a network gives for a label of a sample, and whether the sample has it.
struct Scored {
  float score = 0;
  bool holds = false;
};

// The sum over thresholds, from the highest score down, of (recall gained) x (precision there); equal scores are one
// threshold, so the order of samples does not matter. A score that is no number counts against the network: as the
// lowest where the label holds, as the highest where not. None: no sample has the label.
// Sorts `scored`.
std::optional<double> average_precision(std::span<Scored> scored);

struct AveragePrecision {
  Average mean;                                     // micro: of all labels of all samples in one list
  std::vector<std::optional<double>> classes = {};  // macro is their mean, without the classes that no sample has
};

// Of rows of `classes` scores and flags (not 0: the sample has the label). Takes 8 bytes a score besides.
// REQUIRES: as many flags as scores, whole rows.
AveragePrecision mean_average_precision(std::span<const float> scores, std::span<const std::uint8_t> flags,
                                        std::size_t classes);

}  // namespace ronde::train
