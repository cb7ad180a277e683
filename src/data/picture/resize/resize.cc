#include "ronde/data/picture/resize/resize.h"

#include <algorithm>
#include <cmath>

namespace ronde::data::picture {
namespace {

constexpr int kOne = 1 << kWeightBits;

// std::floor is a call where the compiler may not count on SSE4.1. REQUIRES: no less than minus four million.
int floor_of(double value) {
  constexpr int kEnough = 1 << 22;
  return static_cast<int>(value + kEnough) - kEnough;
}

template <class Store>
void add_totals(const Sum& sum, Store&& store) {
  const Axis& axis = *sum.axis;
  for (std::size_t i = 0; i < sum.count; ++i) {
    std::int32_t total = 0;
    for (int t = 0; t < axis.taps; ++t) total += sum.rows[t][sum.first + i] * axis.pair(t / 2, sum.output)[t % 2];
    store(i, total);
  }
}

template <class Store>
void add_rows(const Sum& sum, Store&& store) {
  add_totals(sum, [&](std::size_t i, std::int32_t total) {
    const float product = static_cast<float>(total) * sum.scale[i];
    store(i, product + sum.shift[i]);
  });
}

void across(const Sum& sum, float* into) {
  add_rows(sum, [into](std::size_t i, float value) { into[i] = value; });
}

void across16(const Sum& sum, Bf16* into) {
  add_rows(sum, [into](std::size_t i, float value) { into[i] = to_bf16(value); });
}

void across8(const Sum& sum, std::uint8_t* into) {
  add_totals(sum, [into](std::size_t i, std::int32_t total) { into[i] = nearest_byte(total); });
}

}  // namespace

void along_plain(const Axis& axis, const std::uint8_t* row, RowShape shape, int from_output, std::int16_t* into) {
  constexpr int kShift = kWeightBits - kRowBits, kHalf = 1 << (kShift - 1);
  const int step = shape.channels == 1 ? 1 : 4;
  const bool planes = shape.layout == Layout::ChannelsFirst;
  const int pixel = planes ? 1 : shape.channels, channel = planes ? axis.out : 1;
  for (int x = from_output; x < axis.out; ++x) {
    const std::uint8_t* from = row + step * axis.begin[static_cast<std::size_t>(x)];
    for (int c = 0; c < shape.channels; ++c) {
      std::int32_t sum = kHalf;
      for (int k = 0; k < axis.taps; ++k) sum += from[step * k + c] * axis.pair(k / 2, x)[k % 2];
      into[pixel * x + channel * c] = static_cast<std::int16_t>(sum >> kShift);
    }
  }
}

// In fixed point they must add up to 1: what rounding leaves goes to the largest.
void Axis::settle(float sum, int count, std::size_t place) {
  constexpr int kOne = 1 << kWeightBits;
  const float to_fixed = static_cast<float>(kOne) / sum;
  int left = kOne, largest = 0;
  const auto weight_at = [&](int k) -> std::int16_t& {
    return weights[2 * (static_cast<std::size_t>(k / 2) * static_cast<std::size_t>(out) + place) +
                   static_cast<std::size_t>(k % 2)];
  };
  for (int k = 0; k < count; ++k) {
    const int weight = static_cast<int>(exact_[static_cast<std::size_t>(k)] * to_fixed + 0.5f);
    weight_at(k) = static_cast<std::int16_t>(weight);
    left -= weight;
    if (exact_[static_cast<std::size_t>(k)] > exact_[static_cast<std::size_t>(largest)]) largest = k;
  }
  weight_at(largest) = static_cast<std::int16_t>(weight_at(largest) + left);
}

void Axis::set(int inputs, double from, double length, int outputs, bool backwards) {
  in = inputs;
  out = outputs;
  const double step = length / outputs, reach = std::max(step, 1.0);
  const auto steepness = static_cast<float>(1.0 / reach);
  const int most = static_cast<int>(std::min<double>(std::ceil(2.0 * reach), inputs));
  taps = most + most % 2;
  begin.resize(static_cast<std::size_t>(outputs));
  weights.assign(static_cast<std::size_t>(outputs) * static_cast<std::size_t>(taps), 0);
  exact_.resize(static_cast<std::size_t>(most));
  for (int i = 0; i < outputs; ++i) {
    const double centre = from + (i + 0.5) * step - 0.5;  // as inputs are counted: the first one's is 0
    const int first = std::clamp(floor_of(centre - reach) + 1, 0, inputs - 1);
    const int last = std::clamp(-floor_of(-centre - reach) - 1, first, std::min(first + most, inputs) - 1);
    const auto away = static_cast<float>(first - centre);
    float sum = 0;
    for (int k = 0; k <= last - first; ++k) {
      const float weight = std::max(0.0f, 1.0f - std::abs(away + static_cast<float>(k)) * steepness);
      exact_[static_cast<std::size_t>(k)] = weight;
      sum += weight;
    }
    if (!(sum > 0)) sum = exact_[0] = 1;  // an output that lies outside, by rounding
    const auto place = static_cast<std::size_t>(backwards ? outputs - 1 - i : i);
    begin[place] = first;
    settle(sum, last - first + 1, place);
  }
}

std::size_t Axis::bytes() const {
  return begin.capacity() * sizeof(std::int32_t) + weights.capacity() * sizeof(std::int16_t) +
         exact_.capacity() * sizeof(float);
}

const Kernels& plain_kernels() {
  static constexpr Kernels kPlain = {[](const Axis& axis, const std::uint8_t* row, RowShape shape, std::int16_t* into) {
                                       along_plain(axis, row, shape, 0, into);
                                     },
                                     across, across16, across8, [] {}};
  return kPlain;
}

const Kernels& best_kernels() {
  const Kernels* fast = avx2_kernels();
  return fast ? *fast : plain_kernels();
}

}  // namespace ronde::data::picture
