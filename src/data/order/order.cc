#include "ronde/data/order/order.h"

#include <bit>

#include "ronde/base/error.h"
#include "ronde/data/order/random.h"

namespace ronde::data {

Order::Order(std::int64_t samples, std::uint64_t seed, std::int64_t epoch) : samples_(samples) {
  if (samples < 0) throw Error::bad_input("number of samples must not be negative, got {}", samples);
  // The least power of two that holds all positions: less than half of it is outside.
  const int bits = samples > 1 ? std::bit_width(static_cast<std::uint64_t>(samples - 1)) : 0;
  low_bits_ = bits / 2;
  low_mask_ = (std::uint64_t{1} << low_bits_) - 1;
  high_mask_ = (std::uint64_t{1} << (bits - low_bits_)) - 1;
  const Random random(seed, static_cast<std::uint64_t>(epoch), /* what for */ 0x6f72646572);
  for (std::size_t round = 0; round < kRounds; ++round) keys_[round] = random.at(round);
}

// A Feistel network: each half is changed by a function of the other, which can be undone whatever the function is; so
// no two inputs meet. The halves need not be of one size.
std::uint64_t Order::shuffled(std::uint64_t x) const {
  std::uint64_t low = x & low_mask_, high = x >> low_bits_;
  for (std::size_t round = 0; round < kRounds; round += 2) {
    high ^= mix(low + keys_[round]) & high_mask_;
    low ^= mix(high + keys_[round + 1]) & low_mask_;
  }
  return high << low_bits_ | low;
}

// What falls outside goes round again until it is inside: the cycle that it is on leads back, so this ends, and what
// is left is a permutation of the inside.
std::int64_t Order::operator[](std::int64_t position) const {
  if (samples_ < 2) return position;
  auto x = static_cast<std::uint64_t>(position);
  do x = shuffled(x);
  while (x >= static_cast<std::uint64_t>(samples_));
  return static_cast<std::int64_t>(x);
}

}  // namespace ronde::data
