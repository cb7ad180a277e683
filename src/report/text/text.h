#pragma once

#include <string>

namespace ronde::report {

struct Report;

// A report for a terminal, under 90 columns. The verdict first, then the tree, where the time goes, causes, advice, and
// what to try next. Parts that are missing or empty are left out. Pure; any thread.
std::string text_report(const Report& report, bool colour);

// The guide of a report as text: all stages, where this run stands, and the next experiment.
std::string guide_text(const Report& report, bool colour);

}  // namespace ronde::report
