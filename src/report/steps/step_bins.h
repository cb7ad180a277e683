#pragma once

#include <cstddef>
#include <vector>

#include "ronde/report/steps/steps.h"

// What of a step table a document holds, so that it stays small for any number of steps and ranks. Pure.
namespace ronde::report {

// Neighbouring steps that share a column. Places in StepTable::numbers.
struct StepBin {
  std::size_t first = 0, last = 0;
  std::size_t longest = 0;  // stands for all of them: a mean would hide the steps that one looks for

  friend bool operator==(const StepBin&, const StepBin&) = default;
};

// At most `most` bins of equally many steps (the last one may have fewer). Few enough steps get a bin each.
// REQUIRES: most > 0.
std::vector<StepBin> bins_of(const StepTable& table, std::size_t most);

// Places in StepTable::ranks, ascending: all of them, or `most`, evenly from the one with most work to the one with
// least. The slowest rank is among them. REQUIRES: most > 1.
std::vector<std::size_t> chosen_ranks(const StepTable& table, std::size_t most);

}  // namespace ronde::report
