#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Numbers of rows that members have told each other.
namespace ronde::comm::detail {

using Rows = std::vector<std::int64_t>;

// `told` as numbers of rows, one of each member of the group of `ranks`, of which each row takes `row_bytes`.
// FAILS WITH: System, naming the rank, for a number that is negative, or so large that they have no room in memory
// together. Pure.
Rows checked_rows(std::span<const std::uint64_t> told, std::size_t row_bytes, std::span<const int> ranks);

// REQUIRES: checked rows.
std::int64_t total_of(const Rows& rows);

}  // namespace ronde::comm::detail
