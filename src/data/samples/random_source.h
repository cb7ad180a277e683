#pragma once

#include <memory>

#include "ronde/data/source.h"

namespace ronde::data::detail {

// Samples of random numbers, between -1 and 1, with random targets: what training costs without any input.
std::unique_ptr<Source> open_random(const SourceOptions& options);

}  // namespace ronde::data::detail
