#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "ronde/data/picture/choose.h"
#include "ronde/data/picture/resize/resizer.h"

namespace ronde::data::picture {

// From resized rows to the memory of a batch: recoloured, normalised, mirrored and turned. Made once for all pictures.
// Safe to use from several threads.
class Renderer {
 public:
  explicit Renderer(const PictureOptions& options);

  RowShape shape() const { return shape_; }

  // Whether rows go along themselves backwards: what Axis::set() wants to know.
  static bool backwards(const Change& change) { return change.flip != (change.turns >= 2); }

  // Memory for a row on its way, besides the resizer's; kept from picture to picture.
  struct Scratch {
    std::vector<float> row, coloured;
    std::size_t bytes() const { return (row.capacity() + coloured.capacity()) * sizeof(float); }
  };
  // What a picture may need of it.
  std::size_t scratch_bytes() const { return 2 * scale_.size() * sizeof(float); }

  // All rows that the resizer was started with. T is float, Bf16 or, for options that say u8, a byte; `out` has
  // resolution^2 * channels of them. FAILS WITH: BadInput, where the picture's rows fail.
  template <class T>
  void render(Resizer& resizer, const Change& change, Scratch& scratch, T* out, const Kernels& kernels) const;

 private:
  template <class T>
  void place(const float* row, int y, const Change& change, T* out) const;
  template <class T>
  void cut(const Window& window, T* out) const;
  void recolour(const Change& change, Scratch& scratch) const;

  int side_;
  RowShape shape_;
  std::vector<float> scale_, shift_;                   // of each number of a row, from sums to what is wanted
  std::vector<float> to_byte_, none_;                  // the same, to bytes
  std::array<float, 3> mean_{}, factor_{}, offset_{};  // of each channel: in bytes; from bytes to what is wanted
};

}  // namespace ronde::data::picture
