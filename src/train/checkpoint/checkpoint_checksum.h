#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ronde::train {

// The checksum of a file that comes in pieces: XXH64 with seed 0 (as `xxhsum -H64` prints it), which runs at the speed
// of memory without help from the processor. Finds accidents, not forgeries.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes);
  std::uint64_t value() const;  // of all that was added so far
  std::string text() const;     // in 16 hexadecimal digits

 private:
  static constexpr std::size_t kStripe = 32;

  void add_stripe(const std::byte* stripe);

  std::array<std::uint64_t, 4> lanes_ = {0x60ea'27ee'adc0'b5d6u, 0xc2b2'ae3d'27d4'eb4fu, 0, 0x61c8'864e'7a14'3579u};
  std::array<std::byte, kStripe> rest_ = {};
  std::uint64_t total_ = 0;
};

}  // namespace ronde::train
