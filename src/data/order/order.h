#pragma once

#include <array>
#include <cstdint>

namespace ronde::data {

// The order in which an epoch visits `samples` samples: a permutation that is computed, not stored, so it takes the
// same few bytes for a billion samples as for ten. Every sample comes exactly once.
//
//   const Order order(samples, seed, epoch);
//   source.read(order[position], ...);
//
// A plain value; safe to read from any thread.
class Order {
 public:
  // FAILS WITH: BadInput for a negative number of samples.
  Order(std::int64_t samples, std::uint64_t seed, std::int64_t epoch);

  // REQUIRES: 0 <= position < size().
  std::int64_t operator[](std::int64_t position) const;
  std::int64_t size() const { return samples_; }

 private:
  static constexpr int kRounds = 8;
  std::uint64_t shuffled(std::uint64_t x) const;

  std::int64_t samples_;
  int low_bits_ = 0;
  std::uint64_t low_mask_ = 0, high_mask_ = 0;
  std::array<std::uint64_t, kRounds> keys_{};
};

}  // namespace ronde::data
