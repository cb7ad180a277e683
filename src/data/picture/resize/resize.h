#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ronde/data/picture/bf16.h"
#include "ronde/data/source.h"

// Resizing in fixed point, rows as they come: a row is first resized along itself, to numbers of 7 binary places, then
// rows are added up. Every step is exact or rounds once, in integers, and what turns them into floats multiplies and
// adds once: plain code and vector units give the same bits.
namespace ronde::data::picture {

constexpr int kWeightBits = 14, kRowBits = 7;
// What a sum of rows must be multiplied by to be a byte's value, 0 to 255.
constexpr float kSumToByte = 1.0f / static_cast<float>(1 << (kWeightBits + kRowBits));
// The nearest byte to a sum of rows, which is never negative.
inline std::uint8_t nearest_byte(std::int32_t sum) {
  constexpr int kShift = kWeightBits + kRowBits;
  return static_cast<std::uint8_t>((sum + (1 << (kShift - 1))) >> kShift);
}
// Bytes that must be there behind a row of pixels: weights of 0 reach so far.
constexpr std::size_t kRowSlack = 64;

// How one axis of a picture is resized: the inputs that each output takes, and by how much, in 1 / 2^14; they add up to
// 1 exactly. A triangle as wide as an output is (and no narrower than an input): linear where it enlarges, and nothing
// is left out where it shrinks.
class Axis {
 public:
  // `length` inputs from `from` on become `outputs`; both may lie between pixels. There are `inputs`, and what would
  // reach beyond them takes those there are. Backwards: the last output first. Keeps its memory.
  // REQUIRES: all more than 0, and 0 <= from.
  void set(int inputs, double from, double length, int outputs, bool backwards = false);

  int in = 0, out = 0;
  int taps = 0;  // of each output, even; those that are not needed have weight 0, and may lie behind the last input
  std::vector<std::int32_t> begin = {};    // the first input of each output
  std::vector<std::int16_t> weights = {};  // the first two of every output, then the next two of every output

  // Two weights, as vector units take them.
  const std::int16_t* pair(int number, int output) const {
    return weights.data() +
           2 * (static_cast<std::size_t>(number) * static_cast<std::size_t>(out) + static_cast<std::size_t>(output));
  }
  std::size_t bytes() const;  // of memory

 private:
  void settle(float sum, int count, std::size_t place);

  std::vector<float> exact_ = {};  // weights of one output
};

// Where a row goes that has been resized along itself: channels of a pixel together, or each channel by itself.
struct RowShape {
  int channels = 3;  // of what comes out: 1 (from one byte a pixel) or 3 (from four)
  Layout layout = Layout::ChannelsFirst;
};

// Rows to be added up to one output row, or a piece of it.
struct Sum {
  const Axis* axis = nullptr;  // and for which of its outputs
  int output = 0;
  const std::int16_t* const* rows = nullptr;       // axis->taps of them
  std::size_t first = 0, count = 0;                // which numbers of the rows
  const float *scale = nullptr, *shift = nullptr;  // for each of the `count`
  bool read_soon = false;                          // what comes out: then it is not written around the cache
};

// One set of functions; all sets give the same bits.
struct Kernels {
  // A row of pixels (one byte each, or four) along `axis`. `into`: axis.out * channels.
  void (*along)(const Axis& axis, const std::uint8_t* row, RowShape shape, std::int16_t* into);
  // into[i] = float(sum over t of rows[t][first + i] * weight[t]) * scale[i] + shift[i]
  void (*across)(const Sum& sum, float* into);
  void (*across16)(const Sum& sum, Bf16* into);
  // into[i] = the nearest byte to the sum; it needs no scale and no shift.
  void (*across8)(const Sum& sum, std::uint8_t* into);
  // After the last row of a picture: what was written around the cache is there for other threads, too.
  void (*finish)();
};
const Kernels& plain_kernels();
// Of `along`, outputs from one on: what is left over by vectors.
void along_plain(const Axis& axis, const std::uint8_t* row, RowShape shape, int from_output, std::int16_t* into);
const Kernels* avx2_kernels();  // nullptr: this processor has none
const Kernels& best_kernels();

}  // namespace ronde::data::picture
