#pragma once

#include "ronde/data/order/random.h"
#include "ronde/data/picture/picture_decoder.h"
#include "ronde/data/picture/pixels.h"

namespace ronde::data::picture {

// What is done to one picture.
struct Change {
  Window crop = {};   // of the picture
  bool flip = false;  // left to right, before turning
  int turns = 0;      // by 90 degrees, clockwise
  float brightness = 1, contrast = 1, saturation = 1;
  Window cutout = {};  // of what comes out; no width: nothing

  bool recolours() const { return brightness != 1 || contrast != 1 || saturation != 1; }
};

// Chooses by `random` alone. Numbers are drawn in a fixed order, wanted or not, so that an option changes nothing but
// what it names. The crop is of a random share and aspect, wherever it fits; a picture so long that ten tries do not
// fit gives the largest part in the middle that does.
// REQUIRES: a picture of at least a pixel.
Change choose(const PictureOptions& options, int width, int height, Random random);

}  // namespace ronde::data::picture
