#include "ronde/base/wire/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#include "ronde/base/wire/crc32c_ways.h"

namespace ronde {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie");

using Table = std::array<std::uint32_t, 256>;

// tables[k][b]: what byte b does to the checksum when k more bytes follow it in a word.
constexpr std::array<Table, 8> make_tables() {
  constexpr std::uint32_t kPolynomial = 0x82f63b78;  // bit-reversed
  std::array<Table, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < tables.size(); ++k)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = tables[k - 1][byte];
      tables[k][byte] = crc >> 8 ^ tables[0][crc & 0xff];
    }
  return tables;
}

constexpr auto kTables = make_tables();

}  // namespace

std::uint32_t detail::crc32c_by_tables(std::string_view bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {  // eight bytes at once
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    word ^= crc;
    crc = 0;
    for (std::size_t i = 0; i < 8; ++i) crc ^= kTables[7 - i][word >> 8 * i & 0xff];
  }
  for (const char byte : bytes) crc = crc >> 8 ^ kTables[0][(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
  static const detail::Crc32c fast = detail::crc32c_by_instruction();
  return fast != nullptr ? fast(bytes, before) : detail::crc32c_by_tables(bytes, before);
}

}  // namespace ronde
