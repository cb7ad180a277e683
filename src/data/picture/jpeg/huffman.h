#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace ronde::data::picture {

// A Huffman code of a baseline JPEG, as its header gives it: how many codes of each length there are, and what they
// stand for, in the order of codes.
struct HuffmanCode {
  std::array<std::uint8_t, 17> counts = {};  // [1] to [16]
  std::array<std::uint8_t, 256> symbols = {};
  friend bool operator==(const HuffmanCode&, const HuffmanCode&) = default;
};

// The same code, by its next bits. Made again only for another code: most pictures have the one that the standard
// suggests.
class HuffmanTable {
 public:
  static constexpr int kLook = 10;  // bits that are looked at
  struct Symbol {
    std::uint8_t symbol = 0, length = 0;  // 0: no such code
  };

  // Whether it is another code. REQUIRES: a code that can be, as libjpeg has checked.
  bool set(const HuffmanCode& code);

  Symbol symbol(std::uint32_t next16) const {
    const Symbol known = symbols_[next16 >> (16 - kLook)];
    return known.length > 0 ? known : long_symbol(next16);
  }
  // Of those that are looked at alone: the symbol, where all of its code is among them.
  Symbol short_symbol(std::size_t bits) const { return symbols_[bits]; }

 private:
  Symbol long_symbol(std::uint32_t next16) const;

  HuffmanCode code_;
  bool made_ = false;
  std::array<Symbol, 1 << kLook> symbols_ = {};
  std::array<std::int32_t, 18> end_ = {};    // behind the last code of each length, in 16 bits
  std::array<std::int32_t, 18> first_ = {};  // what to add to a code of that length to find its symbol
};

// For the first coefficient of a block: how much it is more than the one of the block before.
class FirstTable {
 public:
  struct More {
    std::int16_t value = 0;
    std::uint8_t length = 0;  // bits that all of it takes; 0: not by one look
  };

  // REQUIRES: as HuffmanTable.
  void set(const HuffmanCode& code);

  More more(std::size_t bits) const { return more_[bits]; }
  HuffmanTable::Symbol symbol(std::uint32_t next16) const { return table_.symbol(next16); }

 private:
  HuffmanTable table_;
  std::array<More, 1 << HuffmanTable::kLook> more_ = {};
};

// For the coefficients of a block after its first: two of them and the end of the block come out of one look, where
// their bits were all among those that were looked at.
class CoefficientTable {
 public:
  static constexpr int kLook = HuffmanTable::kLook;
  static constexpr std::uint8_t kNone = 64;  // further than any block reaches
  struct Pair {
    std::uint8_t length = 0;        // bits that all of it takes
    std::uint8_t to_first = kNone;  // places from the coefficient before to the first; kNone: not by one look
    std::uint8_t to_second = 0;     // and from there to the second; 0: there is none, and its value is the first's
    std::uint8_t end = 0;           // 1: the block ends here
    std::int16_t first = 0, second = 0;
  };
  // Where nobody wants to know the values: as many as can be, whose codes are among those that were looked at.
  struct Passed {
    std::uint8_t length = 0;      // bits that all of it takes: up to kLook + 15
    std::uint8_t places = kNone;  // that are passed; kNone: not by one look; kEnd more: the block ends here
  };
  static constexpr std::uint8_t kEnd = 128;

  // REQUIRES: as HuffmanTable.
  void set(const HuffmanCode& code);

  Pair pair(std::size_t bits) const { return pairs_[bits]; }
  Passed passed(std::size_t bits) const { return passed_[bits]; }
  HuffmanTable::Symbol symbol(std::uint32_t next16) const { return table_.symbol(next16); }

 private:
  struct Single;
  Single single(std::size_t bits, int left) const;
  Pair make_pair(std::size_t bits) const;
  Passed make_passed(std::size_t bits) const;

  HuffmanTable table_;
  std::array<Pair, 1 << kLook> pairs_ = {};
  std::array<Passed, 1 << kLook> passed_ = {};
};

// The next bits of a scan, from memory that goes on far enough. Small, so that a copy of it lives in registers.
class NextBits {
 public:
  NextBits() = default;
  explicit NextBits(const std::uint8_t* at) : at_(at) {}

  // At least 56 bits are there afterwards. It is the same whether some are there twice: no branch.
  [[gnu::always_inline]] void fill() {
    std::uint64_t word = 0;
    std::memcpy(&word, at_, sizeof word);
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
    bits_ |= word >> count_;
    at_ += (63 - count_) >> 3;
    count_ |= 56;
  }
  std::uint32_t peek(int count) const { return static_cast<std::uint32_t>(bits_ >> (64 - count)); }
  void skip(int count) {
    bits_ <<= count;
    count_ -= count;
  }
  const std::uint8_t* at() const { return at_; }
  int count() const { return count_; }                // bits before `at` that were not taken
  void move_to(const std::uint8_t* at) { at_ = at; }  // the same bytes, elsewhere

 private:
  const std::uint8_t* at_ = nullptr;
  std::uint64_t bits_ = 0;  // from the top
  int count_ = 0;
};

// The bits of a scan, without the zeros that are stuffed behind bytes of 255: copied, piece by piece. They end where a
// marker or the file begins: from there on there are zeros, and overdrawn() says so.
class ScanBits {
 public:
  void set(const std::uint8_t* begin, const std::uint8_t* end);

  // What a unit's blocks may be read from. To be called before each unit.
  NextBits& for_unit() {
    if (next_.at() >= low_) more();
    return next_;
  }
  bool overdrawn() const { return (next_.at() - plain_end_) * 8 > next_.count(); }

  // Where in the scan what was read ends, or a little behind; no marker lies in between.
  const std::uint8_t* behind() const { return from_; }
  // The same, to a byte or two; slow.
  const std::uint8_t* at() const;

 private:
  // Ten blocks of 64 coefficients, each a code of 16 bits and 15 more, and what is looked at beyond.
  static constexpr std::size_t kUnit = 10 * 64 * 4 + 64, kPiece = std::size_t{16} << 10;

  void more();

  const std::uint8_t *from_ = nullptr, *end_ = nullptr;  // what has not been copied
  const std::uint8_t* piece_ = nullptr;                  // what was copied last began there,
  std::size_t kept_ = 0;                                 // and was put behind so many bytes from before
  std::vector<std::uint8_t> plain_;
  const std::uint8_t *low_ = nullptr, *plain_end_ = nullptr;  // from where on more must be copied; behind the last
  NextBits next_;
};

// One block of 8 x 8 of a unit: its tables, the first coefficient of its channel's last block, and where its
// coefficients go, in rows, instead of zeros.
struct Block {
  const FirstTable* first = nullptr;
  const CoefficientTable* others = nullptr;
  int* last = nullptr;
  std::int16_t* into = nullptr;
};

// The blocks of a unit, one after the other. Returns whether they were valid.
bool read_blocks(ScanBits& bits, std::span<const Block> blocks);
// The same; but their coefficients go nowhere.
bool pass_blocks(ScanBits& bits, std::span<const Block> blocks);

}  // namespace ronde::data::picture
