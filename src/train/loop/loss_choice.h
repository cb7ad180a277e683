#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ronde/data/sample_kind.h"
#include "ronde/models/loss.h"
#include "ronde/train/options.h"

// What settings ask a loss to be. All pure.
namespace ronde::train {

// train.class_weights: "1,1,4.5". FAILS WITH: BadInput for others than one number for each class, none below 0 and not
// all 0.
std::vector<double> parse_class_weights(std::string_view text, std::int64_t classes);

// Whether train.loss names a loss that is built in, besides the usual one.
bool is_built_in_loss(std::string_view name);

// What train.loss, train.class_weights, train.ignore_index and train.label_smoothing ask for; of a loss of a plugin all
// but its form. FAILS WITH: BadInput for what does not go together, or with these samples.
models::LossOptions loss_options(const TrainingOptions& asked, const data::SampleKind& kind);

}  // namespace ronde::train
