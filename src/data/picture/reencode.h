#pragma once

#include <string>
#include <string_view>

#include "ronde/data/picture/pixels.h"

namespace ronde::data::picture {

// All of a picture, JPEG, PNG or TIFF, as 1 (grey) or 3 channels. FAILS WITH: BadInput.
Pixels decode_pixels(std::string_view bytes, int channels = 3);

// The same picture, its short side of `short_side` pixels, filtered as resizing does; as it is where that is no less.
Pixels shrink(Pixels pixels, int short_side);

struct JpegStyle {
  int quality = 90;          // 1 to 100
  bool progressive = false;  // slower to read, and all of it must be read
  bool optimise = true;      // Huffman tables for this picture: smaller, and a second pass
  bool full_chroma = false;  // 4:4:4 rather than 4:2:0
  int restart_rows = 0;      // a marker to begin anew at, after each so many rows of blocks; 0: none
};

// Of 1, 3 or 4 (CMYK, as inks) channels. FAILS WITH: BadInput for a picture that no JPEG can hold (65,500 pixels a
// side), or a build without libjpeg-turbo.
std::string encode_jpeg(const Pixels& pixels, const JpegStyle& style = {});

// A JPEG, PNG or TIFF, shrunk to a short side and stored as a baseline JPEG, 4:2:0, never progressive: what decodes
// fastest. Grey stays grey. FAILS WITH: BadInput, for what cannot be decoded or encoded.
std::string reencode_jpeg(std::string_view bytes, int short_side, int quality);

}  // namespace ronde::data::picture
