#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/report/advice.h"

// The rules of advise(), by group, before the least gains and mere symptoms are left out. Pure.
namespace ronde::report::rules {

std::vector<Advice> of_input(const Evidence& evidence);
std::vector<Advice> of_balance(const Evidence& evidence);
std::vector<Advice> of_binding(const Evidence& evidence);
std::vector<Advice> of_communication(const Evidence& evidence);
std::vector<Advice> of_compute(const Evidence& evidence);
std::vector<Advice> of_phases(const Evidence& evidence);
// What of the serialisation no other advice explains.
std::optional<Advice> of_serialisation(const Evidence& evidence, const std::vector<Advice>& others);

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
