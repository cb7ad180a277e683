#pragma once

#include <cstddef>
#include <cstdint>

namespace ronde::data::picture {

// Rows of a part of a picture, from top to bottom: bytes of one channel (grey), or four bytes a pixel (red, green,
// blue, and one that means nothing). One thread at a time.
class RowReader {
 public:
  RowReader() = default;
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;
  virtual ~RowReader() = default;

  // Rows may come with some columns around the part: so many pixels, of which the part's begin at first().
  virtual int row_pixels() const = 0;
  virtual int first() const = 0;

  // The next rows, as many as are ready and fit, at least one, written `stride` bytes apart; all row_pixels() of each.
  // REQUIRES: rows that are still to come. FAILS WITH: BadInput, where data is damaged or ends.
  virtual int read(std::uint8_t* into, std::size_t stride, int most) = 0;

  // No more of this picture. FAILS WITH: BadInput when data ends too early, though below what was read.
  virtual void finish() = 0;

  // Most bytes that the library held for it at a time.
  virtual std::size_t used() const = 0;
};

// What eyes see of colours, as JPEG and television have it. In place: a byte a pixel, from four.
inline void colours_to_grey(std::uint8_t* pixels, int count) {
  for (int i = 0; i < count; ++i) {
    const std::uint8_t* colour = pixels + 4 * i;
    pixels[i] = static_cast<std::uint8_t>((19595 * colour[0] + 38470 * colour[1] + 7471 * colour[2] + 32768) >> 16);
  }
}

}  // namespace ronde::data::picture
