#include "ronde/data/picture/resize/resizer.h"

#include <algorithm>

namespace ronde::data::picture {
namespace {

// A JPEG makes up to 16 rows at a time; asking for all of them saves calls.
constexpr int kDecodedRows = 16;

// Rows begin where no vector would. libjpeg-turbo writes aligned rows around the cache, and we read them at once: that
// would cost a tenth of all time.
constexpr std::size_t kUnaligned = 4, kLine = 64;

std::size_t row_bytes(std::size_t pixels, int channels) {
  return (pixels * (channels == 1 ? 1 : 4) + kRowSlack + kLine - 1) / kLine * kLine;
}

std::uint8_t* unaligned(std::uint8_t* memory) {
  const auto beyond = reinterpret_cast<std::uintptr_t>(memory) % kLine;
  return memory + (kLine - beyond) % kLine + kUnaligned;
}

// Kernels may read and write whole vectors.
std::size_t padded(std::size_t values) {
  return (values + 31) / 32 * 32;
}

}  // namespace

void Resizer::start(RowReader& reader, RowShape shape, const Kernels& kernels) {
  reader_ = &reader;
  shape_ = shape;
  kernels_ = &kernels;
  row_values_ = static_cast<std::size_t>(x.out) * static_cast<std::size_t>(shape.channels);
  stride_ = row_bytes(static_cast<std::size_t>(reader.row_pixels()), shape.channels);
  pixels_.resize(stride_ * kDecodedRows + 2 * kLine);
  decoded_rows_ = unaligned(pixels_.data());
  ring_.resize(padded(row_values_) * static_cast<std::size_t>(y.taps));
  rows_.resize(static_cast<std::size_t>(y.taps));
  ready_ = decoded_ = taken_ = 0;
}

const std::uint8_t* Resizer::next_pixels() {
  if (taken_ == decoded_) {
    decoded_ = reader_->read(decoded_rows_, stride_, std::min(kDecodedRows, y.in - ready_));
    taken_ = 0;
  }
  const std::size_t first = static_cast<std::size_t>(reader_->first()) * (shape_.channels == 1 ? 1 : 4);
  return decoded_rows_ + static_cast<std::size_t>(taken_++) * stride_ + first;
}

const std::int16_t* const* Resizer::rows_for(int row) {
  const int begin = y.begin[static_cast<std::size_t>(row)], end = std::min(begin + y.taps, y.in);
  const auto slot = [&](int of) { return ring_.data() + padded(row_values_) * static_cast<std::size_t>(of % y.taps); };
  for (; ready_ < end; ++ready_) {
    const std::uint8_t* pixels = next_pixels();
    if (ready_ >= begin) kernels_->along(x, pixels, shape_, slot(ready_));
  }
  // Behind the last row weights are 0, so any row will do.
  for (int t = 0; t < y.taps; ++t) rows_[static_cast<std::size_t>(t)] = slot(std::min(begin + t, end - 1));
  return rows_.data();
}

std::size_t Resizer::bytes() const {
  return x.bytes() + y.bytes() + pixels_.capacity() + ring_.capacity() * sizeof(std::int16_t) +
         rows_.capacity() * sizeof(void*);
}

std::size_t Resizer::bytes_for(int width, int height, int out_width, int out_height, RowShape shape) {
  const auto taps = [](int in, int out) { return 2 * static_cast<std::size_t>((in + out - 1) / out) + 4; };
  const std::size_t across = taps(width, out_width), down = taps(height, out_height);
  const auto outputs = static_cast<std::size_t>(out_width), rows = static_cast<std::size_t>(out_height);
  return outputs * (4 + 2 * across) + rows * (4 + 2 * down) + 4 * (across + down) + 8 * down + 2 * kLine +
         kDecodedRows * row_bytes(static_cast<std::size_t>(width) + 64, shape.channels) +
         2 * down * padded(outputs * static_cast<std::size_t>(shape.channels));
}

}  // namespace ronde::data::picture
