#pragma once

#include <vector>

#include "ronde/comm/execute/execute.h"

namespace ronde::comm::detail {

// Requests that are reduced by Adasum to everyone, each with coefficients of its own; all of one kind. Made of the
// link's other operations, so any link has it: everyone gets its share of the elements of all members, they combine it
// in log2 steps, between which only the products of long vectors are summed, and everyone gets everyone's result. So it
// moves as many bytes as a sum. 16 bits are rounded once, at the end.
Task execute_adasum(Link& link, std::vector<Work> works, Scratch& scratch);

}  // namespace ronde::comm::detail
