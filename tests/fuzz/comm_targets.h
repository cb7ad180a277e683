#pragma once

#include <span>

#include "targets.h"

namespace ronde::data::fuzz {

// What comes from a socket: from ranks of other nodes, and from whoever else finds the port.
std::span<const Target> comm_targets();

}  // namespace ronde::data::fuzz
