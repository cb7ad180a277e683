#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ronde::data::picture {

// A whole picture, decoded: bytes row by row, all channels of a pixel together. A plain value.
struct Pixels {
  int width = 0, height = 0;
  int channels = 3;  // 1: grey; 3: red, green, blue
  std::vector<std::uint8_t> values = {};

  std::size_t row() const { return static_cast<std::size_t>(width) * static_cast<std::size_t>(channels); }
  const std::uint8_t* at(int y) const { return values.data() + static_cast<std::size_t>(y) * row(); }
  std::uint8_t* at(int y) { return values.data() + static_cast<std::size_t>(y) * row(); }
};

// A part of a picture, in its pixels.
struct Window {
  int left = 0, top = 0, width = 0, height = 0;
  friend bool operator==(const Window&, const Window&) = default;
};

}  // namespace ronde::data::picture
