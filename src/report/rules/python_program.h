#pragma once

#include "ronde/report/advice.h"

// Advice for a Python program that was recorded as it is (python/ronde/traced): it has no settings of ours. Pure.
namespace ronde::report::rules {

// Whether the trace is that of such a program: it tells its name as a setting, "program".
bool is_python_program(const JobFacts& facts);

// Puts what to change into the words of PyTorch: "num_workers=4" instead of "data.threads=4". What cannot be set in
// such a program gets no setting.
void say_for_python(const Evidence& evidence, Advice& advice);

}  // namespace ronde::report::rules
