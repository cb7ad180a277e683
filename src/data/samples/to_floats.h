#pragma once

#include <span>

#include "ronde/data/array.h"

namespace ronde::data {

// The numbers of an array of any type, as a network takes them. REQUIRES: as many in `into`.
void to_floats(const Array& from, std::span<float> into);

}  // namespace ronde::data
