#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace ronde::data::picture {

// A Huffman code of a baseline JPEG, as its header gives it: how many codes of each length there are, and what they
// stand for, in the order of codes.
struct HuffmanCode {
  std::array<std::uint8_t, 17> counts = {};  // [1] to [16]
  std::array<std::uint8_t, 256> symbols = {};
  friend bool operator==(const HuffmanCode&, const HuffmanCode&) = default;
};

// The same code, by its next bits: most coefficients come out of one look, with their value. Made again only for
// another code: most pictures have the one that the standard suggests.
class HuffmanTable {
 public:
  static constexpr int kLook = 10;  // bits that are looked at
  struct Entry {
    std::int16_t value = 0;   // of a coefficient whose bits were all among those that were looked at
    std::uint8_t run = 0;     // zeros before it; kEnd: of the block
    std::uint8_t length = 0;  // bits that all of it takes; 0: look for the symbol
  };
  static constexpr std::uint8_t kEnd = 128;

  // REQUIRES: a code that can be, as libjpeg has checked.
  void set(const HuffmanCode& code);

  Entry entry(std::size_t bits) const { return entries_[bits]; }
  struct Symbol {
    std::uint8_t symbol = 0, length = 0;  // 0: no such code
  };
  Symbol symbol(std::uint32_t next16) const {
    const Symbol known = symbols_[next16 >> (16 - kLook)];
    return known.length > 0 ? known : long_symbol(next16);
  }

 private:
  Symbol long_symbol(std::uint32_t next16) const;

  HuffmanCode code_;
  bool made_ = false;
  std::array<Entry, 1 << kLook> entries_ = {};
  std::array<Symbol, 1 << kLook> symbols_ = {};
  std::array<std::int32_t, 18> end_ = {};    // behind the last code of each length, in 16 bits
  std::array<std::int32_t, 18> first_ = {};  // what to add to a code of that length to find its symbol
};

// The bits of a scan, without the zeros that are stuffed behind bytes of 255. Ends where a marker or the file begins:
// from there on there are zeros, and overdrawn() says so.
class ScanBits {
 public:
  void set(const std::uint8_t* begin, const std::uint8_t* end) {
    at_ = begin;
    end_ = end;
    bits_ = 0;
    count_ = padding_ = 0;
  }
  // At least 32 bits are there afterwards: a code and what belongs to it. Four bytes at a time where none is 255. The
  // rest works on a copy, so that an object whose functions are all compiled in stays in registers.
  [[gnu::always_inline]] void fill() {
    if (count_ >= 32) return;
    std::uint32_t word = 0;
    if (end_ - at_ >= 4) std::memcpy(&word, at_, sizeof word);
    const bool plain = end_ - at_ >= 4 && ((~word - 0x01010101u) & word & 0x80808080u) == 0;
    if (!plain) {
      *this = filled_bytewise(*this);
      return;
    }
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap32(word);
    bits_ |= std::uint64_t{word} << (32 - count_);
    count_ += 32;
    at_ += 4;
  }
  std::uint32_t peek(int count) const { return static_cast<std::uint32_t>(bits_ >> (64 - count)); }
  void skip(int count) {
    bits_ <<= count;
    count_ -= count;
  }
  bool overdrawn() const { return count_ < padding_; }
  const std::uint8_t* at() const { return at_; }

 private:
  static ScanBits filled_bytewise(ScanBits bits);

  const std::uint8_t *at_ = nullptr, *end_ = nullptr;
  std::uint64_t bits_ = 0;  // from the top
  int count_ = 0, padding_ = 0;
};

// One block of 8 x 8 of a unit: its tables, the first coefficient of its channel's last block, and where its
// coefficients go, in rows, instead of zeros.
struct Block {
  const HuffmanTable *first = nullptr, *others = nullptr;
  int* last = nullptr;
  std::int16_t* into = nullptr;
};

// The blocks of a unit, one after the other. Returns whether they were valid.
bool read_blocks(ScanBits& bits, std::span<const Block> blocks);
// The same; but their coefficients go nowhere.
bool pass_blocks(ScanBits& bits, std::span<const Block> blocks);

}  // namespace ronde::data::picture
