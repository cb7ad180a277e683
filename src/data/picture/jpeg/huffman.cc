#include "ronde/data/picture/jpeg/huffman.h"

#include <algorithm>

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

bool HuffmanTable::set(const HuffmanCode& code) {
  if (made_ && code == code_) return false;
  code_ = code;
  made_ = true;
  symbols_.fill({});
  std::int32_t next = 0, index = 0;
  for (int length = 1; length <= 16; ++length) {
    const auto at = static_cast<std::size_t>(length);
    first_[at] = index - next;
    for (int i = 0; i < code.counts[at]; ++i, ++next, ++index) {
      if (length > kLook) continue;
      const std::uint8_t symbol = code.symbols[static_cast<std::size_t>(index) & 255];
      const auto begin = static_cast<std::size_t>(next) << (kLook - length), count = std::size_t{1} << (kLook - length);
      for (std::size_t b = begin; b < begin + count && b < symbols_.size(); ++b)
        symbols_[b] = {symbol, static_cast<std::uint8_t>(length)};
    }
    end_[at] = next << (16 - length);
    next <<= 1;
  }
  return true;
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

// --- coefficients

void FirstTable::set(const HuffmanCode& code) {
  constexpr int kLook = HuffmanTable::kLook;
  if (!table_.set(code)) return;
  for (std::size_t bits = 0; bits < more_.size(); ++bits) {
    const auto [size, length] = table_.short_symbol(bits);
    const int whole = length + size;
    more_[bits] = {};
    if (length == 0 || size > 15 || whole > kLook) continue;
    const auto value = static_cast<std::uint32_t>(bits >> (kLook - whole)) & ((1u << size) - 1);
    more_[bits] = {static_cast<std::int16_t>(size > 0 ? extended(value, size) : 0), static_cast<std::uint8_t>(whole)};
  }
}

void CoefficientTable::set(const HuffmanCode& code) {
  if (!table_.set(code)) return;
  for (std::size_t bits = 0; bits < pairs_.size(); ++bits) {
    pairs_[bits] = make_pair(bits);
    passed_[bits] = make_passed(bits);
  }
}

namespace {

constexpr std::size_t kMask = (std::size_t{1} << HuffmanTable::kLook) - 1;

bool ends(HuffmanTable::Symbol symbol) {
  return symbol.length > 0 && symbol.symbol == 0;
}

}  // namespace

// A coefficient whose bits, with those of its value, are all among the first `left` of what is looked at.
struct CoefficientTable::Single {
  std::uint8_t length = 0, places = 0;
  std::int16_t value = 0;
};

CoefficientTable::Single CoefficientTable::single(std::size_t bits, int left) const {
  const auto [symbol, length] = table_.short_symbol(bits);
  const int size = symbol & 15, whole = length + size;
  if (length == 0 || size == 0 || whole > left) return {};
  const auto value = static_cast<std::uint32_t>(bits >> (kLook - whole)) & ((1u << size) - 1);
  return {static_cast<std::uint8_t>(whole), static_cast<std::uint8_t>((symbol >> 4) + 1),
          static_cast<std::int16_t>(extended(value, size))};
}

CoefficientTable::Pair CoefficientTable::make_pair(std::size_t bits) const {
  if (const auto symbol = table_.short_symbol(bits); ends(symbol)) return {.length = symbol.length, .end = 1};
  const Single first = single(bits, kLook);
  if (first.length == 0) return {};
  Pair pair{.length = first.length, .to_first = first.places, .first = first.value, .second = first.value};
  const Single second = single(bits << pair.length & kMask, kLook - pair.length);
  if (second.length > 0) {
    pair.to_second = second.places;
    pair.second = second.value;
    pair.length = static_cast<std::uint8_t>(pair.length + second.length);
  }
  const auto symbol = table_.short_symbol(bits << pair.length & kMask);
  if (ends(symbol) && symbol.length <= kLook - pair.length) {
    pair.length = static_cast<std::uint8_t>(pair.length + symbol.length);
    pair.end = 1;
  }
  return pair;
}

CoefficientTable::Passed CoefficientTable::make_passed(std::size_t bits) const {
  int length = 0, places = 0;
  while (length < kLook) {
    const auto symbol = table_.short_symbol(bits << length & kMask);
    if (symbol.length == 0 || symbol.length > kLook - length) break;
    if (symbol.symbol == 0)
      return {static_cast<std::uint8_t>(length + symbol.length), static_cast<std::uint8_t>(places + kEnd)};
    const int run = symbol.symbol >> 4, size = symbol.symbol & 15;
    if ((size == 0 && run < 15) || places + run + 1 >= kNone) break;
    places += run + 1;
    length += symbol.length + size;
  }
  if (places == 0) return {};
  return {static_cast<std::uint8_t>(length), static_cast<std::uint8_t>(places)};
}

// --- bits

void ScanBits::set(const std::uint8_t* begin, const std::uint8_t* end) {
  from_ = begin;
  end_ = end;
  plain_.resize(kPiece + kUnit);
  next_ = NextBits(plain_.data());
  plain_end_ = plain_.data();
  more();
}

void ScanBits::more() {
  std::uint8_t *into = plain_.data(), *const room = into + kPiece;
  kept_ = next_.at() < plain_end_ ? static_cast<std::size_t>(plain_end_ - next_.at()) : 0;
  std::memmove(into, next_.at(), kept_);
  next_.move_to(into);
  into += kept_;
  piece_ = from_;
  bool ended = false;
  while (!ended && into < room) {
    const auto most = static_cast<std::size_t>(std::min<std::ptrdiff_t>(end_ - from_, room - into));
    const void* found = most > 0 ? std::memchr(from_, 255, most) : nullptr;
    const std::size_t plain = found ? static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - from_) : most;
    std::memcpy(into, from_, plain);
    into += plain;
    from_ += plain;
    if (found && end_ - from_ >= 2 && from_[1] == 0) {
      *into++ = 255;
      from_ += 2;
    } else {
      ended = found || from_ == end_;  // a marker, or the end: it stays where it is
    }
  }
  plain_end_ = into;
  // At the end a unit may reach into what comes behind, once: then it is known to be too little.
  low_ = ended ? plain_.data() + plain_.size() : into - kUnit;
  if (ended) std::memset(into, 0, kUnit);
}

const std::uint8_t* ScanBits::at() const {
  const std::ptrdiff_t taken = next_.at() - plain_.data() - next_.count() / 8 - static_cast<std::ptrdiff_t>(kept_);
  if (taken <= 0) return piece_ + taken;
  const std::uint8_t* at = piece_;
  for (std::ptrdiff_t i = 0; i < taken && at < from_; ++i) at += *at == 255 ? 2 : 1;
  return at;
}

namespace {

enum class Step { More, Done, Invalid };

// What one look does not tell. All is given and taken back as copies: what a function gets the address of does not stay
// in registers.
struct Slow {
  NextBits bits;
  int place;  // of the coefficient before
  Step step;
};

template <bool kStore>
[[gnu::noinline]] Slow slow_step(NextBits bits, const CoefficientTable& table, std::int16_t* block, int place) {
  const HuffmanTable::Symbol symbol = table.symbol(bits.peek(16));
  if (symbol.length == 0) return {bits, place, Step::Invalid};
  bits.skip(symbol.length);
  const int run = symbol.symbol >> 4, size = symbol.symbol & 15;
  if (size == 0 && run < 15) return {bits, place, Step::Done};  // the end of the block
  place += run + 1;
  if (place >= 64) return {bits, place, Step::Invalid};
  if (size > 0) {  // otherwise sixteen zeros
    if constexpr (kStore)
      block[kPlace[static_cast<std::size_t>(place)]] = static_cast<std::int16_t>(extended(bits.peek(size), size));
    bits.skip(size);
  }
  bits.fill();
  return {bits, place, place == 63 ? Step::Done : Step::More};
}

template <bool kStore>
[[gnu::always_inline]] inline Step step_slowly(NextBits& bits, const CoefficientTable& table, std::int16_t* block,
                                               int& place) {
  const Slow slow = slow_step<kStore>(bits, table, block, place);
  bits = slow.bits;
  place = slow.place;
  return slow.step;
}

// REQUIRES: 31 bits.
[[gnu::always_inline]] inline Step read_step(NextBits& bits, const CoefficientTable& table, std::int16_t* block,
                                             int& place) {
  const CoefficientTable::Pair pair = table.pair(bits.peek(CoefficientTable::kLook));
  const int first = place + pair.to_first, second = first + pair.to_second;
  if (second + pair.end >= 64) [[unlikely]] {  // an end behind the last place belongs to the next block
    if (pair.end == 0 || pair.to_first < CoefficientTable::kNone) return step_slowly<true>(bits, table, block, place);
    bits.skip(pair.length);
    return Step::Done;
  }
  bits.skip(pair.length);
  block[kPlace[static_cast<std::size_t>(first)]] = pair.first;
  block[kPlace[static_cast<std::size_t>(second)]] = pair.second;
  place = second;
  return pair.end + (place == 63) > 0 ? Step::Done : Step::More;
}

// REQUIRES: 31 bits.
[[gnu::always_inline]] inline Step pass_step(NextBits& bits, const CoefficientTable& table, std::int16_t*, int& place) {
  const CoefficientTable::Passed passed = table.passed(bits.peek(CoefficientTable::kLook));
  const int beyond = place + (passed.places & (CoefficientTable::kEnd - 1));
  const bool end = (passed.places & CoefficientTable::kEnd) != 0;
  if (beyond + end >= 64) [[unlikely]]
    return step_slowly<false>(bits, table, nullptr, place);
  bits.skip(passed.length);
  place = beyond;
  return end || place == 63 ? Step::Done : Step::More;
}

template <bool kStore>
[[gnu::always_inline]] inline bool read_others(NextBits& bits, const CoefficientTable& table, std::int16_t* block) {
  constexpr auto step = kStore ? read_step : pass_step;
  int place = 0;
  while (true) {
    bits.fill();  // enough for one look and all else that may be
    Step done = step(bits, table, block, place);
    if (done == Step::More) done = step(bits, table, block, place);
    if (done != Step::More) return done == Step::Done;
  }
}

// Takes what a first coefficient is more than the one before. Returns whether it was valid.
[[gnu::noinline]] bool read_first_slowly(NextBits& bits, const FirstTable& table, int& more) {
  const HuffmanTable::Symbol symbol = table.symbol(bits.peek(16));
  const int size = symbol.symbol;
  if (symbol.length == 0 || size > 15) return false;
  bits.skip(symbol.length);
  more = size > 0 ? extended(bits.peek(size), size) : 0;
  bits.skip(size);
  return true;
}

template <bool kStore>
bool read_all(ScanBits& scan, std::span<const Block> blocks) {
  NextBits& given = scan.for_unit();
  NextBits bits = given;  // in registers
  for (const Block& block : blocks) {
    bits.fill();
    const FirstTable::More known = block.first->more(bits.peek(HuffmanTable::kLook));
    int more = known.value;
    bits.skip(known.length);
    if (known.length == 0) [[unlikely]] {
      NextBits copy = bits;
      if (!read_first_slowly(copy, *block.first, more)) return false;
      bits = copy;
    }
    const int value = static_cast<std::int16_t>(*block.last + more);
    *block.last = value;
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
