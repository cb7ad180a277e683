#pragma once

#include <chrono>

namespace ronde::topology {

// The rate of the core that this thread runs on, in GHz, measured by work of which a cycle's worth is known: additions
// that wait for one another. Neither the kernel nor a virtual machine needs to tell anything, and a core that is slowed
// by heat or by a limit on power shows what it really does. Takes about `time`, by the calling thread.
double core_clock_ghz(std::chrono::nanoseconds time = std::chrono::milliseconds(1));

}  // namespace ronde::topology
