#pragma once

#include <memory>
#include <span>

#include "ronde/data/samples/glyph_shapes.h"
#include "ronde/data/source.h"

namespace ronde::data::detail {

// Where a sign lies on a picture of resolution x resolution pixels, and how bold it is, in pixels.
struct Placement {
  float xx = 1, xy = 0, yx = 0, yy = 1;  // a point p of the shape lies at (xx p.x + xy p.y + x, yx p.x + yy p.y + y)
  float x = 0, y = 0;
  float radius = 1;  // half of the pen's width
};

// Draws with smooth edges: each pixel of `ink` becomes at least how much of it the pen covers, 0 to 1. Pure.
void draw(std::span<const Line> lines, const Placement& placement, std::int64_t resolution, std::span<float> ink);

// Signs that are shifted, turned, slanted and scaled at random, of random boldness and brightness, with a stray stroke
// and noise. Sample i is of class i mod classes. With labels or a mask as target there are one to four signs of random
// classes, each in a quarter of its own; the stray stroke has no label and belongs to the background.
std::unique_ptr<Source> open_glyphs(const SourceOptions& options);

}  // namespace ronde::data::detail
