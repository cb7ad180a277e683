#include "ronde/data/picture/huffman.h"

namespace ronde::data::picture {
namespace {

// Where the k-th coefficient of a block lies: along its diagonals.
constexpr std::array<std::uint8_t, 64> kPlace = [] {
  std::array<std::uint8_t, 64> place{};
  int x = 0, y = 0;
  for (std::size_t k = 0; k < 64; ++k) {
    place[k] = static_cast<std::uint8_t>(8 * y + x);
    const bool up = (x + y) % 2 == 0;
    if (up && x == 7)
      ++y;
    else if (!up && y == 7)
      ++x;
    else if (up && y == 0)
      ++x;
    else if (!up && x == 0)
      ++y;
    else
      x += up ? 1 : -1, y += up ? -1 : 1;
  }
  return place;
}();

// Numbers of `size` bits: those that begin with 0 are negative.
inline int extended(std::uint32_t bits, int size) {
  const int value = static_cast<int>(bits);
  return value < (1 << (size - 1)) ? value - (1 << size) + 1 : value;
}

}  // namespace

void HuffmanTable::set(const HuffmanCode& code) {
  if (made_ && code == code_) return;
  code_ = code;
  made_ = true;
  entries_.fill({});
  symbols_.fill({});
  std::int32_t next = 0, index = 0;
  for (int length = 1; length <= 16; ++length) {
    const auto at = static_cast<std::size_t>(length);
    first_[at] = index - next;
    for (int i = 0; i < code.counts[at]; ++i, ++next, ++index) {
      if (length > kLook) continue;
      const std::uint8_t symbol = code.symbols[static_cast<std::size_t>(index) & 255];
      const auto begin = static_cast<std::size_t>(next) << (kLook - length), count = std::size_t{1} << (kLook - length);
      const int size = symbol & 15, run = symbol >> 4, whole = length + size;
      for (std::size_t b = begin; b < begin + count && b < symbols_.size(); ++b) {
        symbols_[b] = {symbol, static_cast<std::uint8_t>(length)};
        if (symbol == 0) entries_[b] = {0, kEnd, static_cast<std::uint8_t>(length)};
        if (size == 0 || whole > kLook) continue;
        const auto value = static_cast<std::uint32_t>(b >> (kLook - whole)) & ((1u << size) - 1);
        entries_[b] = {static_cast<std::int16_t>(extended(value, size)), static_cast<std::uint8_t>(run),
                       static_cast<std::uint8_t>(whole)};
      }
    }
    end_[at] = next << (16 - length);
    next <<= 1;
  }
}

HuffmanTable::Symbol HuffmanTable::long_symbol(std::uint32_t next16) const {
  for (int length = kLook + 1; length <= 16; ++length) {
    const auto at = static_cast<std::size_t>(length);
    if (static_cast<std::int32_t>(next16) >= end_[at]) continue;
    const auto index = static_cast<std::int32_t>(next16 >> (16 - length)) + first_[at];
    return {code_.symbols[static_cast<std::size_t>(index) & 255], static_cast<std::uint8_t>(length)};
  }
  return {};
}

ScanBits ScanBits::filled_bytewise(ScanBits bits) {
  while (bits.count_ <= 56) {
    std::uint64_t byte = 0;
    if (bits.at_ < bits.end_ && *bits.at_ != 255) {
      byte = *bits.at_++;
    } else if (bits.end_ - bits.at_ >= 2 && bits.at_[1] == 0) {
      byte = 255;
      bits.at_ += 2;
    } else {
      bits.padding_ += 8;  // a marker, or the end: it stays where it is
    }
    bits.bits_ |= byte << (56 - bits.count_);
    bits.count_ += 8;
  }
  return bits;
}

namespace {

// All of the others, from the second on. kStore: they are wanted.
template <bool kStore>
[[gnu::always_inline]] inline bool read_others(ScanBits& bits, const HuffmanTable& table, std::int16_t* block) {
  for (int k = 1; k < 64; ++k) {
    bits.fill();
    const HuffmanTable::Entry entry = table.entry(bits.peek(HuffmanTable::kLook));
    if (entry.length > 0) [[likely]] {
      bits.skip(entry.length);
      k += entry.run;
      if (k >= 64) return entry.run == HuffmanTable::kEnd;
      if constexpr (kStore) block[kPlace[static_cast<std::size_t>(k)]] = entry.value;
      continue;
    }
    const HuffmanTable::Symbol symbol = table.symbol(bits.peek(16));
    if (symbol.length == 0) return false;
    bits.skip(symbol.length);
    const int run = symbol.symbol >> 4, size = symbol.symbol & 15;
    if (size == 0 && run < 15) return true;  // the end of the block
    k += run;
    if (k >= 64) return false;
    if (size == 0) continue;  // sixteen zeros
    if constexpr (kStore)
      block[kPlace[static_cast<std::size_t>(k)]] = static_cast<std::int16_t>(extended(bits.peek(size), size));
    bits.skip(size);
  }
  return true;
}

template <bool kStore>
bool read_all(ScanBits& given, std::span<const Block> blocks) {
  ScanBits bits = given;  // in registers
  for (const Block& block : blocks) {
    bits.fill();
    const HuffmanTable::Symbol dc = block.first->symbol(bits.peek(16));
    if (dc.length == 0 || dc.symbol > 15) return false;
    bits.skip(dc.length);
    int value = *block.last;
    if (dc.symbol > 0) {
      value = static_cast<std::int16_t>(value + extended(bits.peek(dc.symbol), dc.symbol));
      bits.skip(dc.symbol);
      *block.last = value;
    }
    if constexpr (kStore) block.into[0] = static_cast<std::int16_t>(value);
    if (!read_others<kStore>(bits, *block.others, block.into)) return false;
  }
  given = bits;
  return true;
}

}  // namespace

bool read_blocks(ScanBits& bits, std::span<const Block> blocks) {
  return read_all<true>(bits, blocks);
}

bool pass_blocks(ScanBits& bits, std::span<const Block> blocks) {
  return read_all<false>(bits, blocks);
}

}  // namespace ronde::data::picture
