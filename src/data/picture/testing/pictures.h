#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <png.h>

#include "ronde/base/error.h"
#include "ronde/data/order/random.h"
#include "ronde/data/picture/pixels.h"

namespace ronde::data::picture {

// Colours that change slowly along both sides, a little rough.
inline Pixels gradient(int width, int height, int channels) {
  Pixels pixels{.width = width, .height = height, .channels = channels};
  pixels.values.resize(pixels.row() * static_cast<std::size_t>(height));
  Random random(5, static_cast<std::uint64_t>(width), static_cast<std::uint64_t>(height));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        pixels.at(y)[x * channels + c] =
            static_cast<std::uint8_t>(20 + 90 * x / width + 100 * ((y + 13 * c) % (height + 13)) / (height + 13) +
                                      static_cast<int>(random.below(8)));
  return pixels;
}

struct PngStyle {
  int bits = 8;
  int colours = PNG_COLOR_TYPE_RGB;
  bool interlaced = false;
};

// A PNG; `values` of a pixel are written as they are, so they must be what the style says. For tests only: a failure
// ends the program.
inline std::string encode_png(const Pixels& pixels, PngStyle style = {}) {
  std::string bytes;
  if (pixels.channels == 1 && style.colours == PNG_COLOR_TYPE_RGB) style.colours = PNG_COLOR_TYPE_GRAY;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &bytes,
      [](png_structp of, png_bytep data, std::size_t count) {
        static_cast<std::string*>(png_get_io_ptr(of))->append(reinterpret_cast<const char*>(data), count);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, static_cast<png_uint_32>(pixels.width), static_cast<png_uint_32>(pixels.height), style.bits,
               style.colours, style.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (style.colours == PNG_COLOR_TYPE_PALETTE) {
    png_color palette[256];
    for (int i = 0; i < 256; ++i)
      palette[i] = {static_cast<png_byte>(i), static_cast<png_byte>(255 - i), static_cast<png_byte>(i / 2)};
    png_set_PLTE(png, info, palette, 1 << style.bits);
  }
  png_write_info(png, info);
  const int passes = style.interlaced ? png_set_interlace_handling(png) : 1;
  for (int pass = 0; pass < passes; ++pass)
    for (int y = 0; y < pixels.height; ++y) png_write_row(png, pixels.at(y));
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

}  // namespace ronde::data::picture
