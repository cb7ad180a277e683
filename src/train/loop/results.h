#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/data/source.h"
#include "ronde/train/evaluate/average_precision.h"
#include "ronde/train/evaluate/class_counts.h"
#include "ronde/train/evaluate/meter_score.h"

// How well a network does, in the numbers that fit what it learns. All pure, without torch.
namespace ronde::train {

// One of them.
struct Measure {
  std::string key;       // for files: "f1_macro"
  std::string name;      // for people: "F1"
  double value = 0;      //
  bool percent = false;  // how people are used to see it
  bool detail = false;   // belongs to the one before: shown behind it, where there is room
  bool lower_is_better = false;
};

// What a network is judged by: what it learns, and whether the loss is a user's, which may be no squared error.
struct Criterion {
  Criterion(data::Target wanted, bool with_own_loss = false)  // NOLINT(google-explicit-constructor)
      : target(wanted), own_loss(with_own_loss) {}
  data::Target target;
  bool own_loss;
};

// class: accuracy (the likeliest class is right), and how often the right one is among the five likeliest.
// labels: F1, precision and recall (a label is given where its output is above 0: a probability above one half), micro
//   and macro; mAP, the mean over classes of the average precision, and its micro form.
// mask: IoU, the mean over classes of intersection over union; the share of pixels that are right.
// input, values: MSE, the mean squared error, unless the loss is a user's.
// Classes that are nowhere to be found: see class_counts.h and average_precision.h.
struct Results {
  double loss = 0;  // mean over samples
  std::int64_t samples = 0;
  std::vector<Measure> measures = {};  // the first is the main one
  std::string by_class_key = {};       // "iou_by_class", "ap_by_class"; empty: nothing is known by class
  std::vector<double> by_class = {};   // no number: of a class that is nowhere

  // Whether the main one is as good as train.target_accuracy asks: at least so high, or for an error so low.
  bool reached(double target) const;
};

// What all that was held out came to, summed up over ranks.
struct Evaluation {
  Score score = {};
  std::vector<ClassCount> classes = {};     // labels, mask
  AveragePrecision average_precision = {};  // labels
  std::vector<Measure> own = {};            // those of a user (registry.h), which come first
};

// The measure of that key, of which "loss" is always one; nothing: there is none.
std::optional<Measure> find_measure(const Results& results, std::string_view key);
std::vector<std::string> measure_keys(const Results& results);  // for people: "accuracy, accuracy5, loss"
// The main one, by which a training is judged: where there is no measure, the loss.
Measure main_measure(const Results& results);
// Anything is better than nothing, unless it is no number.
bool is_better(const Measure& now, const std::optional<Measure>& best);

// Of steps of training, for which there are sums alone: no averages over classes, no average precision.
Results results_of(const Score& score, const Criterion& criterion);
Results results_of(const Evaluation& evaluation, const Criterion& criterion);

std::string text_of(const Measure& measure, int decimals);  // "91.25%" or "0.9125" for 2 decimals of a percent
// "loss 0.4312, accuracy 91.25%"; with details: "loss 0.4312, accuracy 91.25% (top 5: 99.50%)".
std::string text_of(const Results& results, bool details);
// "0.9871, 0.5123, -"
std::string by_class_text(const Results& results);

}  // namespace ronde::train
