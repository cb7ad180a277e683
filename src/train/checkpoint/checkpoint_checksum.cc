#include "ronde/train/checkpoint/checkpoint_checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "ronde/base/text/format.h"

namespace ronde::train {
namespace {

// Of the algorithm's description (Y. Collet, "xxHash fast digest algorithm").
constexpr std::uint64_t kPrime1 = 0x9e37'79b1'85eb'ca87u;
constexpr std::uint64_t kPrime2 = 0xc2b2'ae3d'27d4'eb4fu;
constexpr std::uint64_t kPrime3 = 0x1656'67b1'9e37'79f9u;
constexpr std::uint64_t kPrime4 = 0x85eb'ca77'c2b2'ae63u;
constexpr std::uint64_t kPrime5 = 0x27d4'eb2f'1656'67c5u;

template <class Word>
Word load(const std::byte* at) {
  Word word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t word) {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

std::uint64_t add_rest(std::uint64_t hash, std::span<const std::byte> rest) {
  while (rest.size() >= 8) {
    hash = std::rotl(hash ^ round(0, load<std::uint64_t>(rest.data())), 27) * kPrime1 + kPrime4;
    rest = rest.subspan(8);
  }
  if (rest.size() >= 4) {
    hash = std::rotl(hash ^ (load<std::uint32_t>(rest.data()) * kPrime1), 23) * kPrime2 + kPrime3;
    rest = rest.subspan(4);
  }
  for (const std::byte byte : rest)
    hash = std::rotl(hash ^ (std::to_integer<std::uint64_t>(byte) * kPrime5), 11) * kPrime1;
  return hash;
}

}  // namespace

void Checksum::add_stripe(const std::byte* stripe) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i] = round(lanes_[i], load<std::uint64_t>(stripe + 8 * i));
}

void Checksum::add(std::span<const std::byte> bytes) {
  const std::size_t held = total_ % kStripe;
  total_ += bytes.size();
  if (held > 0) {
    const std::size_t more = std::min(kStripe - held, bytes.size());
    std::copy_n(bytes.begin(), more, rest_.begin() + static_cast<std::ptrdiff_t>(held));
    bytes = bytes.subspan(more);
    if (held + more < kStripe) return;
    add_stripe(rest_.data());
  }
  for (; bytes.size() >= kStripe; bytes = bytes.subspan(kStripe)) add_stripe(bytes.data());
  std::ranges::copy(bytes, rest_.begin());
}

std::uint64_t Checksum::value() const {
  std::uint64_t hash = kPrime5;
  if (total_ >= kStripe) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
  }
  hash = add_rest(hash + total_, std::span(rest_).first(total_ % kStripe));
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

std::string Checksum::text() const {
  return fmt::format("{:016x}", value());
}

}  // namespace ronde::train
