#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ronde::tune {

inline constexpr std::size_t kSobolDimensions = 21;

// Point `index` of Sobol's sequence in the unit cube, with the direction numbers of Joe and Kuo: any 2^m points from a
// multiple of 2^m on fill it evenly. Pure. REQUIRES: dimensions <= kSobolDimensions.
std::vector<double> sobol_point(std::uint32_t index, std::size_t dimensions);

}  // namespace ronde::tune
