#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ronde/train/loop/results.h"

namespace ronde::train {

// The main measure as a checkpoint keeps it, in one line: by it a training that is started again knows whether it has
// reached train.target_accuracy. Empty where there is none. Pure.
std::string kept_text(const Results& results);
// Results with that measure alone; nothing for any other text. Pure.
std::optional<Results> parse_kept_results(std::string_view text);

}  // namespace ronde::train
