#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ronde/data/array.h"

namespace ronde::data::picture {

// What a TIFF (or GeoTIFF) holds first: channels of one size, numbers of one type.
struct TiffHeader {
  int width = 0, height = 0, channels = 1;
  Type type = Type::U8;
  std::size_t piece_bytes = 0;  // of a strip or a tile, which may be larger than the picture
  // What the numbers are as a picture of 8 bits: one channel, or red, green, blue (and one that means nothing).
  enum class Colours { None, Black, White, Red } colours = Colours::None;  // 0 is black, is white; red comes first

  std::size_t values() const {
    return static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * static_cast<std::size_t>(channels);
  }
};

// FAILS WITH: BadInput: no TIFF, numbers other than u8, u16, i16 and f32, more than 2^28 of them, a build without
// libtiff.
TiffHeader read_tiff_header(std::string_view bytes);

// All of its numbers as floats, a channel after the other. `strip` is memory that is used on the way.
// FAILS WITH: BadInput, with what libtiff says: damaged, cut off.
TiffHeader read_tiff(std::string_view bytes, std::vector<float>& into, std::vector<std::uint8_t>& strip);

// The pixels of a TIFF that is a picture, row by row, all channels together. FAILS WITH: as read_tiff(); BadInput for
// what is none: other than grey or RGB of 8 bits.
TiffHeader read_tiff_picture(std::string_view bytes, std::vector<std::uint8_t>& into, std::vector<std::uint8_t>& strip);

// FAILS WITH: BadInput for other than grey or RGB of 8 bits.
void check_is_picture(const TiffHeader& header);

// Whether this build can read them.
bool can_read_tiff();

// How many bytes libtiff itself takes, besides `into` and `strip`.
std::size_t tiff_library_bytes(const TiffHeader& header);

}  // namespace ronde::data::picture
