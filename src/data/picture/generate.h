#pragma once

#include <cstdint>

#include "ronde/data/picture/pixels.h"

namespace ronde::data::picture {

// A picture that costs a decoder what a photograph does: areas of slowly changing colour with edges, textures of
// several sizes, and the noise of a camera; other ones for another (seed, index). At 500 x 375 and quality 90 it is a
// JPEG of 60 to 90 kB.
Pixels generate_photograph(std::uint64_t seed, std::int64_t index, int width = 500, int height = 375);

}  // namespace ronde::data::picture
