#pragma once

#include "ronde/data/picture/header.h"
#include "ronde/data/picture/pixels.h"

namespace ronde::data::picture {

// How a crop is decoded: which pixels, of the picture itself or of one that is decoded smaller, and where in them the
// crop lies (between pixels, perhaps).
struct CropPlan {
  int shrink = 1;
  Window window = {};
  double left = 0, top = 0, width = 0, height = 0;  // of the crop, in the window
};

// A JPEG is decoded to 1/2, 1/4 or 1/8 where that still leaves `side` pixels of the crop or more. Pure.
CropPlan plan_for(const Window& crop, const Header& header, int side);

}  // namespace ronde::data::picture
