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

// How many bytes libtiff itself takes, besides `into` and `strip`.
std::size_t tiff_library_bytes(const TiffHeader& header);

}  // namespace ronde::data::picture
