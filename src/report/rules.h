#pragma once

#include <optional>
#include <string>

#include "ronde/report/advice.h"

// What several groups of rules are made of (rules/entry.h). Pure.
namespace ronde::report::rules {

// A time of the rank at that place in Run::ranks.
AdvicePlace place_of(const Evidence& evidence, std::size_t rank, TimeRange time);
// The longest of a rank's ranges; none where there are none.
std::optional<TimeRange> longest(const Ranges& ranges);

// Whether a batch twice as large would fit, as far as it is known.
bool memory_for_twice(const Evidence& evidence);
// "train.batch=128": twice what it is. Empty where the batch is not known.
std::string twice_the_batch(const Evidence& evidence);

std::string seconds_text(double seconds);  // "1.2 s", "340 ms"

}  // namespace ronde::report::rules
