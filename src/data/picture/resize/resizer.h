#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ronde/data/picture/resize/resize.h"
#include "ronde/data/picture/rows.h"

namespace ronde::data::picture {

// Takes rows of a reader as they are needed and resizes them; only as many are kept as an output row is made of.
// Keeps its memory from picture to picture. One thread at a time.
class Resizer {
 public:
  // How pixels become outputs; to be set before start().
  Axis x, y;

  void start(RowReader& reader, RowShape shape, const Kernels& kernels = best_kernels());

  // For Kernels::across: the rows that output row `row` is made of. REQUIRES: rows are asked for in ascending order.
  // FAILS WITH: BadInput, where the reader fails.
  const std::int16_t* const* rows_for(int row);
  // Numbers in each of them.
  std::size_t row_values() const { return row_values_; }

  std::size_t bytes() const;  // of memory
  // The same, before start(), for any picture of these sizes.
  static std::size_t bytes_for(int width, int height, int out_width, int out_height, RowShape shape);

 private:
  const std::uint8_t* next_pixels();

  RowReader* reader_ = nullptr;
  RowShape shape_;
  const Kernels* kernels_ = nullptr;
  std::size_t row_values_ = 0, stride_ = 0;
  int ready_ = 0;                // rows that have been resized along themselves
  int decoded_ = 0, taken_ = 0;  // rows in pixels_, and of these resized
  std::vector<std::uint8_t> pixels_;
  std::uint8_t* decoded_rows_ = nullptr;  // in pixels_
  std::vector<std::int16_t> ring_;
  std::vector<const std::int16_t*> rows_;
};

}  // namespace ronde::data::picture
