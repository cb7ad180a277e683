#pragma once

#include <string>

#include "ronde/report/run/job_facts.h"
#include "ronde/report/run/window.h"
#include "ronde/trace/file/run.h"

namespace ronde::report {

inline constexpr std::int64_t kLeastSteps = 10;  // whole ones: fewer tell nothing about the next thousand

// Why a run gets no grade, in one sentence: it failed, a rank's recording breaks off, or there are too few whole steps.
// Empty: it gets one. Pure.
std::string why_no_grade(const trace::Run& run, const Window& window, const JobFacts& facts);

// "The run failed after 275 us: no file 'x'." REQUIRES: facts.failure.
std::string failure_text(const JobFacts& facts);

}  // namespace ronde::report
