#pragma once

#include "ronde/report/advice.h"

// For the rules of the group Compute: the arithmetic itself could be faster. Pure.
namespace ronde::report::rules {

// nullptr: nothing was measured.
const RankSteps* with_most_work(const Evidence& evidence);

// Time in which the arithmetic of a training step is done: of the device, where there is one, else of the rank's
// thread.
double arithmetic_seconds(const Evidence& evidence, const RankSteps& rank);

}  // namespace ronde::report::rules
