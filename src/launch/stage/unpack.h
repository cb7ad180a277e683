#pragma once

#include <filesystem>

#include "ronde/base/settings/environment.h"
#include "ronde/launch/output/progress.h"
#include "ronde/launch/process/signals.h"
#include "ronde/launch/stage/stage_names.h"

namespace ronde::launch::detail {

// Unpacks a file into a folder that is there, by the usual program for it. What is read of it counts as progress. Ends
// early, with the program killed, when progress.stop is set.
// FAILS WITH: BadInput when the program is missing; System with the program's own words.
void unpack(const Unpacker& unpacker, const std::filesystem::path& source, const std::filesystem::path& folder,
            const Environment& environment, const Signals& signals, Progress& progress);

// What it will take at least, unpacked: archives do not say, or lie, so a full disk is found out on the way.
std::uint64_t least_unpacked_bytes(const std::filesystem::path& source);

}  // namespace ronde::launch::detail
