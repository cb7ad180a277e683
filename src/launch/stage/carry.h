#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ronde/launch/output/progress.h"
#include "ronde/launch/process/signals.h"
#include "ronde/launch/run/job.h"

namespace ronde::launch::detail {

// One thing to be carried from here to there, on a thread of its own. Returns a sentence about it for the user; it may
// be empty. It must look at progress.stop often, then return, and leave nothing half done behind.
using Carrier = std::function<std::string(Progress& progress, const Signals& signals)>;

// Runs all of them at once, guarded as the ranks of a job are; shows how far they are after a second, and their
// sentences at the end. The first that fails stops the others. Returns 0, or 128 + the signal that has stopped it.
// REQUIRES: as for guarded().
// FAILS WITH: what a carrier fails with.
int carry(const std::vector<Carrier>& carriers, const std::string& verb, const Stream& err);

// "staging: 35 %, 1.2 GiB of 3.4 GiB, 850 MiB/s". Pure.
std::string describe_progress(const std::string& verb, std::uint64_t done, std::uint64_t total, double seconds);

}  // namespace ronde::launch::detail
