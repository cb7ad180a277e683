#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ronde::data::picture {

enum class Format : std::uint8_t { Jpeg, Png, Tiff, Pixels };  // Pixels: not encoded

// What a picture says of itself before any pixel comes.
struct Header {
  Format format = Format::Jpeg;
  int width = 0, height = 0;
  int channels = 3;  // as stored: 1 grey, 2 grey and alpha, 3 colour, 4 colour and alpha, or CMYK in a JPEG
  int bits = 8;      // of a channel
  // Pixels come only when all of the file has been taken in: a progressive JPEG, or one of several scans, an
  // interlaced PNG.
  bool whole = false;
  // JPEG: of each component, in units of the least; how many pixels of the picture a sample of it stands for.
  std::array<std::uint8_t, 4> across = {1, 1, 1, 1}, down = {1, 1, 1, 1};
  int most_across = 1, most_down = 1;
  std::size_t piece_bytes = 0;  // TIFF: of a strip or tile
};

// Reads the header with our own eyes, so that nothing is allocated for what is not there: a picture whose data cannot
// possibly fill its size (a block of a JPEG takes a bit, a PNG shrinks to a thousandth at most) is cut off.
// TIFFs are left to libtiff. FAILS WITH: BadInput: none of JPEG, PNG and TIFF (or a kind of them that nobody can read:
// 12 bits, lossless, arithmetic coding; a TIFF that is neither grey nor RGB of 8 bits), cut off.
Header read_header(std::string_view bytes);

// Whether these bytes begin as a TIFF does.
bool is_tiff(std::string_view bytes);

// How many bytes the library takes to decode it, besides the rows that come out of it; near, and never below.
std::size_t library_bytes(const Header& header);

}  // namespace ronde::data::picture
