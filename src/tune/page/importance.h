#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ronde/tune/space/space.h"

namespace ronde::tune {

// The values that trials have had of one parameter, as coordinates: a number (its logarithm, if the domain says so), or
// the number of a choice.
struct Column {
  std::string path;
  std::vector<double> values = {};  // one per trial; not a number: it had none
  std::size_t choices = 0;          // 0: numbers
};

// How much each parameter tells whether a trial is among the best tenth: PED-ANOVA (Watanabe et al., arXiv 2304.10255),
// with Optuna's grid and kernels. Shares, which add up to 1; all 0 with fewer than 20 trials. `losses`: one per trial;
// smaller is better. Pure.
std::vector<double> importance(const std::vector<Column>& columns, const std::vector<double>& losses);

}  // namespace ronde::tune
