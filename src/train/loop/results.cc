#include "ronde/train/loop/results.h"

#include <cmath>
#include <limits>

#include "ronde/base/text/format.h"

namespace ronde::train {
namespace {

using data::Target;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Results begun(const Score& score) {
  return {.loss = score.mean_loss(), .samples = score.samples};
}

ClassCount count_of(const Score& score) {
  return {.hits = score.hits, .falses = score.falses, .misses = score.misses};
}

void add_labels(Results& results, const Evaluation& found) {
  const Average f1s = average(found.classes, &f1), precisions = average(found.classes, &precision),
                recalls = average(found.classes, &recall);
  results.measures = {
      {.key = "f1", .name = "F1", .value = f1s.micro},
      {.key = "precision", .name = "precision", .value = precisions.micro, .detail = true},
      {.key = "recall", .name = "recall", .value = recalls.micro, .detail = true},
      {.key = "f1_macro", .name = "macro F1", .value = f1s.macro, .detail = true},
      {.key = "precision_macro", .name = "precision", .value = precisions.macro, .detail = true},
      {.key = "recall_macro", .name = "recall", .value = recalls.macro, .detail = true},
      {.key = "map", .name = "mAP", .value = found.average_precision.mean.macro},
      {.key = "map_micro", .name = "micro", .value = found.average_precision.mean.micro, .detail = true},
  };
  results.by_class_key = "ap_by_class";
  for (const auto& one : found.average_precision.classes) results.by_class.push_back(one.value_or(kNone));
}

void add_mask(Results& results, const Evaluation& found) {
  const double pixels = average(found.classes, &recall).micro;
  results.measures = {
      {.key = "iou", .name = "IoU", .value = average(found.classes, &iou).macro},
      {.key = "pixel_accuracy", .name = "pixel accuracy", .value = pixels, .percent = true},
  };
  results.by_class_key = "iou_by_class";
  for (const ClassCount& one : found.classes) results.by_class.push_back(one == ClassCount{} ? kNone : iou(one));
}

}  // namespace

bool Results::reached(double target) const {
  if (measures.empty()) return false;
  const Measure& main = measures.front();
  return main.lower_is_better ? samples > 0 && main.value <= target : main.value >= target;
}

Results results_of(const Score& score, const Criterion& criterion) {
  Results results = begun(score);
  switch (criterion.target) {
    case Target::Class:
      results.measures = {
          {.key = "accuracy", .name = "accuracy", .value = score.accuracy(), .percent = true},
          {.key = "accuracy5", .name = "top 5", .value = score.accuracy5(), .percent = true, .detail = true}};
      break;
    case Target::Labels: results.measures = {{.key = "f1", .name = "F1", .value = f1(count_of(score))}}; break;
    case Target::Mask:
      results.measures = {
          {.key = "pixel_accuracy", .name = "pixel accuracy", .value = recall(count_of(score)), .percent = true}};
      break;
    case Target::Input:
    case Target::Values:
      if (criterion.own_loss) break;
      results.measures = {{.key = "mse", .name = "MSE", .value = score.mean_loss(), .lower_is_better = true}};
      break;
  }
  return results;
}

Results results_of(const Evaluation& evaluation, const Criterion& criterion) {
  const bool by_class = criterion.target == Target::Labels || criterion.target == Target::Mask;
  Results results = by_class ? begun(evaluation.score) : results_of(evaluation.score, criterion);
  if (criterion.target == Target::Labels) add_labels(results, evaluation);
  if (criterion.target == Target::Mask) add_mask(results, evaluation);
  results.measures.insert(results.measures.begin(), evaluation.own.begin(), evaluation.own.end());
  return results;
}

std::optional<Measure> find_measure(const Results& results, std::string_view key) {
  for (const Measure& measure : results.measures)
    if (measure.key == key) return measure;
  if (key == "loss") return Measure{.key = "loss", .name = "loss", .value = results.loss, .lower_is_better = true};
  return {};
}

std::vector<std::string> measure_keys(const Results& results) {
  std::vector<std::string> keys;
  for (const Measure& measure : results.measures) keys.push_back(measure.key);
  keys.emplace_back("loss");
  return keys;
}

Measure main_measure(const Results& results) {
  return results.measures.empty() ? find_measure(results, "loss").value() : results.measures.front();
}

bool is_better(const Measure& now, const std::optional<Measure>& best) {
  if (std::isnan(now.value)) return false;
  return !best || (now.lower_is_better ? now.value < best->value : now.value > best->value);
}

std::string text_of(const Measure& measure, int decimals) {
  return measure.percent ? fmt::format("{:.{}f}%", 100 * measure.value, decimals)
                         : fmt::format("{:.{}f}", measure.value, decimals + 2);
}

std::string text_of(const Results& results, bool details) {
  std::string text = fmt::format("loss {:.4f}", results.loss);
  bool inside = false;
  for (const Measure& measure : results.measures) {
    if (measure.detail && !details) continue;
    if (inside && !measure.detail) text += ")";
    if (measure.detail)
      text += fmt::format("{}{}: {}", inside ? ", " : " (", measure.name, text_of(measure, 2));
    else
      text += fmt::format(", {} {}", measure.name, text_of(measure, 2));
    inside = measure.detail;
  }
  return inside ? text + ")" : text;
}

std::string by_class_text(const Results& results) {
  std::string text;
  for (const double value : results.by_class)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", std::isnan(value) ? "-" : fmt::format("{:.4f}", value));
  return text;
}

}  // namespace ronde::train
