#include "ronde/data/picture/jpeg/huffman.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "ronde/data/order/random.h"

namespace ronde::data::picture {
namespace {

using Coefficients = std::array<std::int16_t, 64>;  // along the diagonals, as they are written

// Where the k-th coefficient lies in a block, written down by hand.
constexpr std::array<int, 64> kDiagonals = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                            12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                            35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                            58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

// Symbols that come early have short codes, the first of `shortest` bits, and many have the longest that there are.
HuffmanCode code_for(const std::vector<std::uint8_t>& symbols, std::size_t shortest) {
  HuffmanCode code;
  std::ranges::copy(symbols, code.symbols.begin());
  std::size_t left = symbols.size();
  for (std::size_t length = shortest; length <= 16; ++length) {
    const std::size_t usual = length < shortest + 8 ? 1 : shortest > 1 ? 20 : 0;
    const std::size_t count = length == 16 ? left : std::min(usual, left);
    code.counts[length] = static_cast<std::uint8_t>(count);
    left -= count;
  }
  return code;
}

std::vector<std::uint8_t> all_sizes() {
  std::vector<std::uint8_t> symbols;
  for (int size = 0; size <= 11; ++size) symbols.push_back(static_cast<std::uint8_t>(size));
  return symbols;
}

std::vector<std::uint8_t> all_runs_and_sizes() {
  std::vector<std::uint8_t> symbols = {0x01, 0x00, 0x02, 0x11, 0x03};  // what is frequent in pictures
  for (int size = 1; size <= 10; ++size)
    for (int run = 0; run <= 15; ++run)
      if (const auto symbol = static_cast<std::uint8_t>(run << 4 | size);
          std::ranges::find(symbols, symbol) == symbols.end())
        symbols.push_back(symbol);
  symbols.push_back(0xf0);
  return symbols;
}

// Writes as a JPEG's writer does.
class Writer {
 public:
  void put(std::uint32_t bits, int count) {
    for (int i = count - 1; i >= 0; --i) {
      byte_ = byte_ << 1 | (bits >> i & 1);
      if (++used_ < 8) continue;
      bytes_.push_back(static_cast<std::uint8_t>(byte_));
      if (bytes_.back() == 255) bytes_.push_back(0);
      byte_ = used_ = 0;
    }
  }
  void symbol(const HuffmanCode& code, int wanted) {
    std::uint32_t next = 0;
    std::size_t index = 0;
    for (std::size_t length = 1; length <= 16; ++length, next <<= 1)
      for (int i = 0; i < code.counts[length]; ++i, ++next, ++index)
        if (code.symbols[index] == wanted) return put(next, static_cast<int>(length));
    FAIL() << "no code for " << wanted;
  }
  void number(int value, int size) {
    put(static_cast<std::uint32_t>(value < 0 ? value + (1 << size) - 1 : value), size);
  }
  static int size_of(int value) {
    int size = 0;
    for (int rest = std::abs(value); rest > 0; rest >>= 1) ++size;
    return size;
  }
  void block(const Coefficients& block, int before, const HuffmanCode& first, const HuffmanCode& others) {
    const int more = block[0] - before;
    symbol(first, size_of(more));
    number(more, size_of(more));
    int run = 0;
    for (std::size_t k = 1; k < 64; ++k) {
      if (block[k] == 0) {
        ++run;
        continue;
      }
      for (; run > 15; run -= 16) symbol(others, 0xf0);
      symbol(others, run << 4 | size_of(block[k]));
      number(block[k], size_of(block[k]));
      run = 0;
    }
    if (run > 0) symbol(others, 0);
  }
  std::vector<std::uint8_t> finish() {
    while (used_ > 0) put(1, 1);
    bytes_.insert(bytes_.end(), {0xff, 0xd9});
    return bytes_;
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::uint32_t byte_ = 0;
  int used_ = 0;
};

// From nearly empty to full ones, numbers small and large.
std::vector<Coefficients> some_blocks(std::uint64_t seed, std::size_t count) {
  Random random(seed, 0);
  std::vector<Coefficients> blocks(count, Coefficients{});
  for (Coefficients& block : blocks) {
    block[0] = static_cast<std::int16_t>(static_cast<int>(random.below(2000)) - 1000);
    const std::uint64_t filled = random.below(65), bits = 1 + random.below(10);
    for (std::size_t k = 1; k < 64; ++k) {
      if (random.below(64) >= filled) continue;
      const auto value = static_cast<int>(random.below(std::uint64_t{1} << bits));
      block[k] = static_cast<std::int16_t>(random.below(2) == 1 ? value : -value);
    }
    if (random.below(8) == 0) block[63] = 1;  // no end of the block is written then
  }
  return blocks;
}

struct Tables {
  explicit Tables(std::size_t shortest)
      : first_code(code_for(all_sizes(), 2)), others_code(code_for(all_runs_and_sizes(), shortest)) {
    first.set(first_code);
    others.set(others_code);
  }
  std::vector<std::uint8_t> written(const std::vector<Coefficients>& blocks) const {
    Writer writer;
    int before = 0;
    for (const Coefficients& block : blocks) {
      writer.block(block, before, first_code, others_code);
      before = block[0];
    }
    return writer.finish();
  }
  HuffmanCode first_code, others_code;
  FirstTable first;
  CoefficientTable others;
};

TEST(Huffman, BlocksAreReadAsTheyWereWritten) {
  for (const std::size_t shortest : {1u, 2u, 4u}) {
    const Tables tables(shortest);
    const auto blocks = some_blocks(shortest, 2000);
    const auto bytes = tables.written(blocks);
    ASSERT_GT(bytes.size(), 40'000u);  // more than are copied at once
    ScanBits bits;
    bits.set(bytes.data(), bytes.data() + bytes.size());
    int last = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      Coefficients got{};
      const std::array<Block, 1> unit{{{&tables.first, &tables.others, &last, got.data()}}};
      const bool passed = i % 3 == 0;  // those are not looked at, but what follows depends on them
      ASSERT_TRUE(passed ? pass_blocks(bits, unit) : read_blocks(bits, unit)) << "block " << i;
      ASSERT_FALSE(bits.overdrawn()) << "block " << i;
      ASSERT_EQ(last, blocks[i][0]) << "block " << i;
      for (std::size_t k = 0; k < 64 && !passed; ++k)
        ASSERT_EQ(got[static_cast<std::size_t>(kDiagonals[k])], blocks[i][k]) << "block " << i << ", number " << k;
    }
    EXPECT_EQ(bits.at(), bytes.data() + bytes.size() - 2);
    EXPECT_EQ(bits.behind(), bytes.data() + bytes.size() - 2);
  }
}

TEST(Huffman, WhatEndsTooEarlyIsNoticed) {
  const Tables tables(2);
  const auto blocks = some_blocks(7, 40);
  const auto bytes = tables.written(blocks);
  for (std::size_t size = 0; size < bytes.size() - 2; size += 7) {
    ScanBits bits;
    bits.set(bytes.data(), bytes.data() + size);
    int last = 0;
    std::size_t good = 0;
    for (; good < blocks.size(); ++good) {
      Coefficients got{};
      const std::array<Block, 1> unit{{{&tables.first, &tables.others, &last, got.data()}}};
      if (!(good % 2 == 0 ? pass_blocks(bits, unit) : read_blocks(bits, unit)) || bits.overdrawn()) break;
    }
    EXPECT_LT(good, blocks.size()) << size << " of " << bytes.size();
  }
}

}  // namespace
}  // namespace ronde::data::picture
