#include "ronde/base/wire/crc32c_ways.h"

#if defined(__x86_64__)

#include <array>
#include <cstddef>
#include <cstring>

#include <immintrin.h>

namespace ronde::detail {
namespace {

// The instruction takes three cycles and can start each cycle: three streams keep it busy. What they found is then put
// together, as if each had run on through the bytes of those after it: times x^(bits that follow), modulo the
// polynomial. A product of two remainders comes out multiplied by x once too often, since all is bit-reversed, and the
// instruction that reduces it multiplies by x^32: hence 33 less.
constexpr std::size_t kMostWords = 128;  // of a stream, 8 bytes each

constexpr auto make_powers() {
  std::array<std::uint32_t, 2 * kMostWords + 1> powers{};  // [n]: x^(64 n - 33), bit-reversed
  std::uint32_t power = 1;                                 // x^31
  for (std::size_t words = 1; words < powers.size(); ++words) {
    powers[words] = power;
    for (int bit = 0; bit < 64; ++bit) power = power >> 1 ^ (power & 1 ? 0x82f63b78u : 0u);
  }
  return powers;
}
constexpr auto kPowers = make_powers();

std::uint64_t word_at(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

__attribute__((target("sse4.2,pclmul"))) std::uint64_t times(std::uint64_t crc, std::uint32_t power) {
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(crc)),
                                               _mm_cvtsi32_si128(static_cast<int>(power)), 0);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
}

__attribute__((target("sse4.2,pclmul"))) std::uint32_t compute(std::string_view bytes, std::uint32_t before) {
  std::uint64_t crc = ~before;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  while (left >= 24 * 4) {  // less is not worth the putting together
    const std::size_t words = left / 24 < kMostWords ? left / 24 : kMostWords;
    const char *second = at + 8 * words, *third = second + 8 * words;
    std::uint64_t b = 0, c = 0;
    for (std::size_t i = 0; i < 8 * words; i += 8) {
      crc = _mm_crc32_u64(crc, word_at(at + i));
      b = _mm_crc32_u64(b, word_at(second + i));
      c = _mm_crc32_u64(c, word_at(third + i));
    }
    crc = _mm_crc32_u64(0, times(crc, kPowers[2 * words]) ^ times(b, kPowers[words])) ^ c;
    at += 24 * words;
    left -= 24 * words;
  }
  for (; left >= 8; at += 8, left -= 8) crc = _mm_crc32_u64(crc, word_at(at));
  auto rest = static_cast<std::uint32_t>(crc);
  for (; left > 0; ++at, --left) rest = _mm_crc32_u8(rest, static_cast<unsigned char>(*at));
  return ~rest;
}

}  // namespace

Crc32c crc32c_by_instruction() {
  return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") ? compute : nullptr;
}

}  // namespace ronde::detail

#else

namespace ronde::detail {

Crc32c crc32c_by_instruction() {
  return nullptr;
}

}  // namespace ronde::detail

#endif
