#pragma once

#include <cstdint>

namespace ronde::parallel::detail {

// What a rank has of a parameter's gradient; ranks agree on the highest.
enum class Presence : std::uint8_t { None, Dense, Sparse };

// What ranks add up for each parameter, so that joined ranks, which give zeros, do not count: how many have a dense
// gradient, and, from this on, how many a sparse one. There is room for 2^31 - 1 ranks of each.
inline constexpr std::int64_t kOneSparse = std::int64_t{1} << 31;

constexpr std::int64_t vote(Presence presence) {
  return presence == Presence::None ? 0 : presence == Presence::Dense ? 1 : kOneSparse;
}

constexpr Presence agreed_from(std::int64_t votes) {
  return votes == 0 ? Presence::None : votes < kOneSparse ? Presence::Dense : Presence::Sparse;
}

}  // namespace ronde::parallel::detail
