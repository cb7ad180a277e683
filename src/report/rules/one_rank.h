#pragma once

#include "ronde/report/advice.h"

// For the rules of the group Phases: one rank does something while the others wait, or all wait for a checkpoint. Pure.
namespace ronde::report::rules {

struct OneRank {
  double seconds = 0;
  const SequentialPart* longest = nullptr;
};

// What one rank does alone in phases of a kind.
OneRank alone_in(const Evidence& evidence, PhaseKind kind);

// The share of the run that would be saved if this work were spread over all ranks.
double spread(const Evidence& evidence, double seconds);

// Gain, place and evidence of such advice. REQUIRES: alone.longest.
Advice advice_on(const Evidence& evidence, const OneRank& alone);

}  // namespace ronde::report::rules
