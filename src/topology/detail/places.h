#pragma once

#include <string>
#include <vector>

#include "ronde/topology/cpu_set.h"

namespace ronde::topology::detail {

// OMP_PLACES for the given places, in order: "{0}:8" for eight of one cpu each, "{0}:8:2" for every
// second one, "{0,64},{1,65}" for cores of two.
std::string format_places(const std::vector<CpuSet>& places);

}  // namespace ronde::topology::detail
