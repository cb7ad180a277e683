#pragma once

#include <string>

#include "ronde/report/run/job_facts.h"
#include "ronde/report/run/window.h"

// Speeds and shares of a run, as numbers and as words. Pure.
namespace ronde::report {

// Of all ranks, if the window took so many seconds. 0: the trace does not tell the batch, or has no steps.
double samples_per_second(const JobFacts& facts, const Window& window, double seconds);

// The most ranks that any node has: they share its processors, memory and disks. At least 1.
int ranks_a_node(const trace::Run& run, const JobFacts& facts);

std::string percent_text(double share);                   // "42 %", "0.3 %", "under 0.1 %"
std::string amount_text(double value, const char* unit);  // "2.13 GFLOP", "67 GB/s"
std::string size_text(double bytes);                      // "64 MiB"
std::string speed_text(double samples_per_second);        // "8.25", "1234"

}  // namespace ronde::report
