#include "ronde/data/picture/reencode.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/picture/jpeg/jpeg.h"
#include "ronde/data/picture/pixel_rows.h"
#include "ronde/data/picture/png.h"
#include "ronde/data/picture/resize/resizer.h"
#include "ronde/data/picture/tiff.h"

namespace ronde::data::picture {
namespace {

void take_all(RowReader& reader, Pixels& pixels) {
  const std::size_t stride = static_cast<std::size_t>(reader.row_pixels()) * 4 + kRowSlack;
  std::vector<std::uint8_t> row(stride);
  pixels.values.resize(pixels.row() * static_cast<std::size_t>(pixels.height));
  for (int y = 0; y < pixels.height; ++y) {
    reader.read(row.data(), stride, 1);
    std::uint8_t* into = pixels.at(y);
    if (pixels.channels == 1)
      std::memcpy(into, row.data(), pixels.row());
    else
      for (int x = 0; x < pixels.width; ++x) std::memcpy(into + 3 * x, row.data() + 4 * x, 3);
  }
  reader.finish();
}

}  // namespace

Pixels decode_pixels(std::string_view bytes, int channels) {
  const Header header = read_header(bytes);
  Pixels pixels{.width = header.width, .height = header.height, .channels = channels};
  const Window all{0, 0, header.width, header.height};
  if (header.format == Format::Jpeg) {
    JpegReader reader;
    reader.start(bytes, header, {.window = all, .channels = channels});
    take_all(reader, pixels);
  } else if (header.format == Format::Tiff) {
    std::vector<std::uint8_t> stored, strip;
    read_tiff_picture(bytes, stored, strip);
    PixelRows reader;
    reader.start(stored.data(), header.width, header.channels, all, channels);
    take_all(reader, pixels);
  } else {
    PngReader reader;
    reader.start(bytes, header, all, channels);
    take_all(reader, pixels);
  }
  return pixels;
}

Pixels shrink(Pixels pixels, int short_side) {
  const int shorter = std::min(pixels.width, pixels.height);
  if (shorter <= short_side) return pixels;
  const auto scaled = [&](int side) {
    const auto exact = static_cast<std::int64_t>(side) * short_side;
    return static_cast<int>((exact + shorter / 2) / shorter);
  };
  Pixels small{.width = scaled(pixels.width), .height = scaled(pixels.height), .channels = pixels.channels};
  small.values.resize(small.row() * static_cast<std::size_t>(small.height));
  PixelRows reader;
  reader.start(pixels.values.data(), pixels.width, pixels.channels, {0, 0, pixels.width, pixels.height},
               pixels.channels);
  Resizer resizer;
  resizer.x.set(pixels.width, 0, pixels.width, small.width);
  resizer.y.set(pixels.height, 0, pixels.height, small.height);
  resizer.start(reader, {.channels = pixels.channels, .layout = Layout::ChannelsLast});
  std::vector<float> values(small.row()), scale(small.row(), kSumToByte), half(small.row(), 0.5f);
  for (int y = 0; y < small.height; ++y) {
    best_kernels().across({.axis = &resizer.y,
                           .output = y,
                           .rows = resizer.rows_for(y),
                           .count = small.row(),
                           .scale = scale.data(),
                           .shift = half.data(),
                           .read_soon = true},
                          values.data());
    std::ranges::transform(values, small.at(y), [](float value) { return static_cast<std::uint8_t>(value); });
  }
  return small;
}

std::string reencode_jpeg(std::string_view bytes, int short_side, int quality) {
  if (short_side < 1) throw Error::bad_input("invalid short side of a picture: {} pixels", short_side);
  const bool grey = read_header(bytes).channels <= 2;
  return encode_jpeg(shrink(decode_pixels(bytes, grey ? 1 : 3), short_side), {.quality = quality});
}

}  // namespace ronde::data::picture
