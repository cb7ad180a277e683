#include "ronde/train/loop/loss_choice.h"

#include <algorithm>
#include <cmath>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/data/source.h"

namespace ronde::train {
namespace {

using data::Target;

void require_form(const std::string& form, const TrainingOptions& asked, Target target) {
  const bool dice = form.starts_with("dice");
  const bool labelled = target == Target::Class || target == Target::Labels || target == Target::Mask;
  if (dice && target != Target::Mask)
    throw Error::bad_input("train.loss = {} compares masks, but data.target is {}", form, data::name(target));
  if (!labelled)
    throw Error::bad_input("train.loss = {} is for classes, but data.target is {}", form, data::name(target));
  if (form != "dice-entropy" && asked.label_smoothing > 0)
    throw Error::bad_input("train.label_smoothing has no effect on train.loss = {}; remove it", form);
  if (asked.data.mixup > 0) throw Error::bad_input("train.loss = {} takes no mixed samples; set data.mixup = 0", form);
}

}  // namespace

std::vector<double> parse_class_weights(std::string_view text, std::int64_t classes) {
  std::vector<double> weights;
  if (trim(text).empty()) return weights;
  for (const auto piece : split(text, ',')) {
    const auto weight = parse_number<double>(trim(piece));
    if (!weight || !std::isfinite(*weight) || *weight < 0)
      throw Error::bad_input("train.class_weights: '{}' is not a number of at least 0", trim(piece));
    weights.push_back(*weight);
  }
  if (std::ssize(weights) != classes)
    throw Error::bad_input("train.class_weights has {} numbers, but there are {} classes", weights.size(), classes);
  if (std::ranges::all_of(weights, [](double weight) { return weight == 0; }))
    throw Error::bad_input("train.class_weights is '{}': one of them must be above 0", text);
  return weights;
}

bool is_built_in_loss(std::string_view name) {
  const auto forms = models::loss_forms();
  return std::ranges::find(forms, name) != forms.end();
}

models::LossOptions loss_options(const TrainingOptions& asked, const data::SampleKind& kind) {
  models::LossOptions options{.label_smoothing = asked.label_smoothing, .sum = true};
  const Target target = kind.target;
  if (target == Target::Labels) options.kind = "multi-label";
  const bool numbers = target == Target::Input || target == Target::Values;
  if (numbers) options.kind = "reconstruction";
  if (numbers && options.label_smoothing > 0)
    throw Error::bad_input("train.label_smoothing is {}, but data.target = {} has no labels to smooth",
                           options.label_smoothing, data::name(target));
  if (numbers && !trim(asked.class_weights).empty())
    throw Error::bad_input("train.class_weights is '{}', but data.target = {} has no classes", asked.class_weights,
                           data::name(target));
  if (!numbers) options.class_weights = parse_class_weights(asked.class_weights, kind.classes);
  if (asked.ignore_index >= 0 && target != Target::Mask)
    throw Error::bad_input("train.ignore_index is {}, but only masks have pixels to ignore, and data.target is {}",
                           asked.ignore_index, data::name(target));
  options.ignores = asked.ignore_index >= 0;
  if (is_built_in_loss(asked.loss)) {
    require_form(asked.loss, asked, target);
    options.form = asked.loss;
  }
  return options;
}

}  // namespace ronde::train
