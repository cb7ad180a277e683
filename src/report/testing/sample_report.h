#pragma once

#include "ronde/report/report.h"

namespace ronde::report::testing {

// A report made by hand, with all that there can be: four ranks on two nodes, of which rank 2 is slower than the
// others.
Report sample_report();

}  // namespace ronde::report::testing
