#pragma once

#include <optional>
#include <vector>

#include "ronde/topology/machine.h"

namespace ronde::topology::detail {

// For each rank, given the domains (positions in Machine::numa) it runs on, a network card (position in
// Machine::networks): near before used equally, and only among the best that are up: a fabric before Ethernet, then by
// speed.
std::vector<std::optional<int>> nearest_networks(const Machine& machine, const std::vector<std::vector<int>>& domains);

}  // namespace ronde::topology::detail
