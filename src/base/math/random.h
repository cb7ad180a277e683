#pragma once

#include <cstdint>

namespace ronde {

// Spreads 64 bits so that every bit of the input changes half of the output (the finaliser of splitmix64).
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Random numbers that depend on nothing but a key: the same (seed, a, b) gives the same numbers on every rank, thread
// and run, so there is no generator state to save. `a` and `b` say what they are for: epoch and sample.
//
//   Random random(seed, epoch, sample);
//   const bool flip = random.below(2) == 1;
//
// A plain value; constexpr throughout.
class Random {
 public:
  constexpr explicit Random(std::uint64_t seed, std::uint64_t a = 0, std::uint64_t b = 0)
      : key_(mix(mix(mix(seed + kStep) + a * kStep) ^ (b + kStep))) {}

  // The n-th number of the key, in any order.
  constexpr std::uint64_t at(std::uint64_t n) const { return mix(key_ + (n + 1) * kStep); }
  constexpr std::uint64_t next() { return at(counter_++); }

  constexpr float uniform() { return static_cast<float>(next() >> 40) * 0x1p-24f; }  // 0 <= u < 1
  constexpr double uniform_double() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  constexpr float uniform(float low, float high) { return low + (high - low) * uniform(); }

  // 0 <= k < n. REQUIRES: n > 0. (A multiplication, not a remainder: off by at most n / 2^64 from even.)
  constexpr std::uint64_t below(std::uint64_t n) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(next()) * n >> 64);
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio, odd

  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

}  // namespace ronde
