#pragma once

#include <cstring>

#include "ronde/data/picture/pixels.h"
#include "ronde/data/picture/rows.h"

namespace ronde::data::picture {

// Rows of a part of a picture that lies in memory, of 1, 3 or 4 channels (the fourth is ignored), as 1 or 3.
class PixelRows final : public RowReader {
 public:
  void start(const std::uint8_t* pixels, int width, int stored, const Window& window, int channels) {
    stored_ = stored;
    channels_ = channels;
    columns_ = window.width;
    a_row_ = static_cast<std::size_t>(width) * static_cast<std::size_t>(stored);
    next_ = pixels + static_cast<std::size_t>(window.top) * a_row_ +
            static_cast<std::size_t>(window.left) * static_cast<std::size_t>(stored);
    row_.resize(static_cast<std::size_t>(columns_) * 4);
  }
  int row_pixels() const override { return columns_; }
  int first() const override { return 0; }
  int read(std::uint8_t* into, std::size_t, int) override {
    std::uint8_t* row = channels_ == 1 && stored_ > 1 ? row_.data() : into;
    if (channels_ == 1 && stored_ == 1)
      std::memcpy(row, next_, static_cast<std::size_t>(columns_));
    else if (stored_ == 1)
      for (int x = 0; x < columns_; ++x) std::memset(row + 4 * x, next_[x], 4);
    else
      for (int x = 0; x < columns_; ++x) std::memcpy(row + 4 * x, next_ + stored_ * x, 3);
    if (row != into) {
      colours_to_grey(row, columns_);
      std::memcpy(into, row, static_cast<std::size_t>(columns_));
    }
    next_ += a_row_;
    return 1;
  }
  void finish() override {}
  std::size_t used() const override { return row_.capacity(); }

 private:
  const std::uint8_t* next_ = nullptr;
  std::size_t a_row_ = 0;
  int stored_ = 3, channels_ = 3, columns_ = 0;
  std::vector<std::uint8_t> row_;
};

}  // namespace ronde::data::picture
