#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ronde::data::detail {

struct Point {
  float x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};
struct Line {
  Point from = {}, to = {};
};

// The straight lines that make up a sign, in a box of 4 x 6 around (0, 0).
class Shape {
 public:
  static constexpr std::size_t kMost = 24;

  // REQUIRES: fewer than kMost so far.
  void add(Line line) { lines_[count_++] = line; }
  std::span<const Line> lines() const { return {lines_.data(), count_}; }

 private:
  std::array<Line, kMost> lines_{};
  std::size_t count_ = 0;
};

// The sign of a class: the letters A to Z, then signs made up from the number. Pure; no seed changes it.
Shape shape_of_class(std::int64_t label);

inline constexpr std::int64_t kLetters = 26;

}  // namespace ronde::data::detail
