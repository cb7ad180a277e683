#pragma once

#include <cstdint>
#include <vector>

#include "ronde/comm/testing/call.h"

// For tests: what comes of every operation, computed on plain memory, one element after the other.
//
// Reductions go in the order of the members; over several nodes, each node reduces its own first. Types of 16 bits are
// summed in f32 and rounded once; on a wire of 16 bits that holds for wider ones too. Integers wrap around, are
// multiplied as f64, and round towards zero. Adasum is computed in f64 and rounded
// once.
namespace ronde::comm::tests {

// What `member` must get; empty when it gets nothing.
Bytes expected_output(const Call& call, int member, int members);

// How far element `at` of that may be off. Nothing but for Adasum, whose products are summed in any order.
double allowed_error(const Call& call, int members, double expected);

// How many rows must have come from each member: Allgather, Gather, Alltoall. Empty for others.
std::vector<std::int64_t> expected_splits(const Call& call, int member, int members);

}  // namespace ronde::comm::tests
