// Resizing by AVX2, where there is any. No fused multiplications: plain code must give the same bits.
#include "ronde/data/picture/resize/resize.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>
#include <type_traits>

#define RONDE_AVX2 [[gnu::target("avx2")]]

namespace ronde::data::picture {
namespace {

// --- a row along itself

// Two neighbouring pixels of each of eight outputs. In each half: of outputs a, b, c, d the first bytes, then the rest.
struct Pixels8 {
  __m256i red_green;  // of each output: R G of its first pixel, R G of its second
  __m256i blue;
};

RONDE_AVX2 inline __m128i two(const std::uint8_t* row, std::int32_t first, std::int32_t second) {
  const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + 4 * std::ptrdiff_t{first}));
  return _mm_castpd_si128(
      _mm_loadh_pd(_mm_castsi128_pd(low), reinterpret_cast<const double*>(row + 4 * std::ptrdiff_t{second})));
}

RONDE_AVX2 inline Pixels8 load_pixels(const std::uint8_t* row, const std::int32_t* begin) {
  const __m256i order = _mm256_setr_epi8(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15,  //
                                         0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15);
  const __m256i outer =
      _mm256_inserti128_si256(_mm256_castsi128_si256(two(row, begin[0], begin[1])), two(row, begin[4], begin[5]), 1);
  const __m256i inner =
      _mm256_inserti128_si256(_mm256_castsi128_si256(two(row, begin[2], begin[3])), two(row, begin[6], begin[7]), 1);
  const __m256 a = _mm256_castsi256_ps(_mm256_shuffle_epi8(outer, order));
  const __m256 b = _mm256_castsi256_ps(_mm256_shuffle_epi8(inner, order));
  return {_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)), _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd))};
}

// Eight numbers of 16 bits for each channel.
struct Colours8 {
  __m128i red, green, blue;
};

template <int kPairs>  // 0: any number
RONDE_AVX2 inline Colours8 sum_pixels(const Axis& axis, const std::uint8_t* row, int x) {
  constexpr int kShift = kWeightBits - kRowBits;
  const __m256i bytes = _mm256_set1_epi32(0x00ff00ff);
  __m256i red = _mm256_set1_epi32(1 << (kShift - 1)), green = red, blue = red;
  const std::int32_t* begin = axis.begin.data() + x;
  const auto pair_step = static_cast<std::size_t>(axis.out) * 2;
  const std::int16_t* weights = axis.pair(0, x);
  const int pairs = kPairs > 0 ? kPairs : axis.taps / 2;
#pragma GCC unroll 2
  for (int p = 0; p < pairs; ++p, row += 8, weights += pair_step) {
    const Pixels8 pixels = load_pixels(row, begin);
    const __m256i weight = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights));
    red = _mm256_add_epi32(red, _mm256_madd_epi16(_mm256_and_si256(pixels.red_green, bytes), weight));
    green = _mm256_add_epi32(green, _mm256_madd_epi16(_mm256_srli_epi16(pixels.red_green, 8), weight));
    blue = _mm256_add_epi32(blue, _mm256_madd_epi16(_mm256_and_si256(pixels.blue, bytes), weight));
  }
  red = _mm256_srai_epi32(red, kShift);
  green = _mm256_srai_epi32(green, kShift);
  blue = _mm256_srai_epi32(blue, kShift);
  const __m256i red_green = _mm256_permute4x64_epi64(_mm256_packs_epi32(red, green), 0xd8);
  return {_mm256_castsi256_si128(red_green), _mm256_extracti128_si256(red_green, 1),
          _mm_packs_epi32(_mm256_castsi256_si128(blue), _mm256_extracti128_si256(blue, 1))};
}

// Bytes of a 16-bit number, by its place in a vector; nothing for -1.
#define RONDE_AT(n) static_cast<char>((n) < 0 ? -1 : 2 * (n)), static_cast<char>((n) < 0 ? -1 : 2 * (n) + 1)
#define RONDE_PICK(a, b, c, d, e, f, g, h) \
  _mm_setr_epi8(RONDE_AT(a), RONDE_AT(b), RONDE_AT(c), RONDE_AT(d), RONDE_AT(e), RONDE_AT(f), RONDE_AT(g), RONDE_AT(h))

// The channels' numbers that the three name, together.
RONDE_AVX2 inline __m128i mixed(const Colours8& colours, __m128i red, __m128i green, __m128i blue) {
  return _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(colours.red, red), _mm_shuffle_epi8(colours.green, green)),
                      _mm_shuffle_epi8(colours.blue, blue));
}

RONDE_AVX2 inline void store_interleaved(const Colours8& colours, std::int16_t* into) {
  auto* out = reinterpret_cast<__m128i*>(into);
  _mm_storeu_si128(out, mixed(colours, RONDE_PICK(0, -1, -1, 1, -1, -1, 2, -1), RONDE_PICK(-1, 0, -1, -1, 1, -1, -1, 2),
                              RONDE_PICK(-1, -1, 0, -1, -1, 1, -1, -1)));
  _mm_storeu_si128(out + 1, mixed(colours, RONDE_PICK(-1, 3, -1, -1, 4, -1, -1, 5),
                                  RONDE_PICK(-1, -1, 3, -1, -1, 4, -1, -1), RONDE_PICK(2, -1, -1, 3, -1, -1, 4, -1)));
  _mm_storeu_si128(out + 2, mixed(colours, RONDE_PICK(-1, -1, 6, -1, -1, 7, -1, -1),
                                  RONDE_PICK(5, -1, -1, 6, -1, -1, 7, -1), RONDE_PICK(-1, 5, -1, -1, 6, -1, -1, 7)));
}

template <int kPairs>
RONDE_AVX2 int sum_colours(const Axis& axis, const std::uint8_t* row, Layout layout, std::int16_t* into) {
  int x = 0;
  if (layout == Layout::ChannelsLast) {
    for (; x + 8 <= axis.out; x += 8) store_interleaved(sum_pixels<kPairs>(axis, row, x), into + 3 * x);
    return x;
  }
  for (; x + 8 <= axis.out; x += 8) {
    const Colours8 colours = sum_pixels<kPairs>(axis, row, x);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(into + x), colours.red);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(into + axis.out + x), colours.green);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(into + 2 * axis.out + x), colours.blue);
  }
  return x;
}

RONDE_AVX2 void along(const Axis& axis, const std::uint8_t* row, RowShape shape, std::int16_t* into) {
  const auto sum = axis.taps == 2 ? sum_colours<1> : axis.taps == 4 ? sum_colours<2> : sum_colours<0>;
  along_plain(axis, row, shape, shape.channels == 3 ? sum(axis, row, shape.layout, into) : 0, into);
}

// --- rows added up

struct Floats16 {
  __m256 low, high;
};

// Weights of an output, in registers where there are few. kPairs 0: any number.
template <int kPairs>
struct Weights {
  RONDE_AVX2 explicit Weights(const Sum& sum) {
    if constexpr (kPairs > 0)
      for (int p = 0; p < kPairs; ++p) pairs[p] = _mm256_set1_epi32(load(sum, p));
  }
  RONDE_AVX2 __m256i at(const Sum& sum, int p) const {
    if constexpr (kPairs > 0) return pairs[p];
    return _mm256_set1_epi32(load(sum, p));
  }
  static std::int32_t load(const Sum& sum, int p) {
    std::int32_t both = 0;
    std::memcpy(&both, sum.axis->pair(p, sum.output), sizeof both);
    return both;
  }
  __m256i pairs[kPairs > 0 ? kPairs : 1];
};

struct Integers16 {
  __m256i low, high;
};

template <int kPairs>
RONDE_AVX2 inline Integers16 sum_totals(const Sum& sum, const Weights<kPairs>& weights, std::size_t i) {
  __m256i even = _mm256_setzero_si256(), odd = even;  // numbers 0 to 3 and 8 to 11; 4 to 7 and 12 to 15
  const std::size_t at = sum.first + i;
  const int pairs = kPairs > 0 ? kPairs : sum.axis->taps / 2;
  for (int p = 0; p < pairs; ++p) {
    const __m256i weight = weights.at(sum, p);
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sum.rows[2 * p] + at));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sum.rows[2 * p + 1] + at));
    even = _mm256_add_epi32(even, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), weight));
    odd = _mm256_add_epi32(odd, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), weight));
  }
  return {_mm256_permute2x128_si256(even, odd, 0x20), _mm256_permute2x128_si256(even, odd, 0x31)};
}

RONDE_AVX2 inline Floats16 scaled(const Sum& sum, const Integers16& totals, std::size_t i) {
  const __m256 low = _mm256_cvtepi32_ps(totals.low), high = _mm256_cvtepi32_ps(totals.high);
  return {_mm256_add_ps(_mm256_mul_ps(low, _mm256_loadu_ps(sum.scale + i)), _mm256_loadu_ps(sum.shift + i)),
          _mm256_add_ps(_mm256_mul_ps(high, _mm256_loadu_ps(sum.scale + i + 8)), _mm256_loadu_ps(sum.shift + i + 8))};
}

// What is left over by vectors.
Sum rest_of(const Sum& sum, std::size_t done) {
  Sum rest = sum;
  rest.first += done;
  rest.count -= done;
  if (rest.scale) rest.scale += done;  // bytes have none
  if (rest.shift) rest.shift += done;
  return rest;
}

// Around the cache where addresses allow it: a batch is larger than any, and nobody reads it soon.
RONDE_AVX2 inline void store(float* into, const Floats16& values, bool around) {
  if (around) {
    _mm256_stream_ps(into, values.low);
    _mm256_stream_ps(into + 8, values.high);
  } else {
    _mm256_storeu_ps(into, values.low);
    _mm256_storeu_ps(into + 8, values.high);
  }
}

// As to_bf16(); there are no NaNs here.
RONDE_AVX2 inline __m256i upper_half(__m256 values) {
  const __m256i bits = _mm256_castps_si256(values);
  const __m256i even = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  return _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(even, _mm256_set1_epi32(0x7fff))), 16);
}

RONDE_AVX2 inline void store(Bf16* into, const Floats16& values, bool around) {
  const __m256i packed = _mm256_packus_epi32(upper_half(values.low), upper_half(values.high));
  const __m256i ordered = _mm256_permute4x64_epi64(packed, 0xd8);
  auto* at = reinterpret_cast<__m256i*>(into);
  if (around)
    _mm256_stream_si256(at, ordered);
  else
    _mm256_storeu_si256(at, ordered);
}

// As nearest_byte(). So few bytes are not worth a way around the cache.
RONDE_AVX2 inline void store(std::uint8_t* into, const Integers16& totals) {
  constexpr int kShift = kWeightBits + kRowBits;
  const __m256i half = _mm256_set1_epi32(1 << (kShift - 1));
  const __m256i low = _mm256_srai_epi32(_mm256_add_epi32(totals.low, half), kShift);
  const __m256i high = _mm256_srai_epi32(_mm256_add_epi32(totals.high, half), kShift);
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
  const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(into), bytes);
}

template <int kPairs, class T>
RONDE_AVX2 std::size_t add_rows(const Sum& given, T* into) {
  const Sum sum = given;  // a copy that no store can change, as far as the compiler sees
  const Weights<kPairs> weights(sum);
  const bool around = !sum.read_soon && reinterpret_cast<std::uintptr_t>(into) % sizeof(__m256) == 0;
  std::size_t i = 0;
  for (; i + 16 <= sum.count; i += 16) {
    const Integers16 totals = sum_totals(sum, weights, i);
    if constexpr (std::is_same_v<T, std::uint8_t>)
      store(into + i, totals);
    else
      store(into + i, scaled(sum, totals, i), around);
  }
  return i;
}

template <class T>
RONDE_AVX2 std::size_t add_rows(const Sum& sum, T* into) {
  if (sum.axis->taps == 2) return add_rows<1>(sum, into);
  if (sum.axis->taps == 4) return add_rows<2>(sum, into);
  return add_rows<0>(sum, into);
}

RONDE_AVX2 void across(const Sum& sum, float* into) {
  const std::size_t done = add_rows(sum, into);
  plain_kernels().across(rest_of(sum, done), into + done);
}

RONDE_AVX2 void across16(const Sum& sum, Bf16* into) {
  const std::size_t done = add_rows(sum, into);
  plain_kernels().across16(rest_of(sum, done), into + done);
}

RONDE_AVX2 void across8(const Sum& sum, std::uint8_t* into) {
  const std::size_t done = add_rows(sum, into);
  plain_kernels().across8(rest_of(sum, done), into + done);
}

}  // namespace

const Kernels* avx2_kernels() {
  static constexpr Kernels kAvx2 = {along, across, across16, across8, [] { _mm_sfence(); }};
  return __builtin_cpu_supports("avx2") ? &kAvx2 : nullptr;
}

}  // namespace ronde::data::picture

#else

namespace ronde::data::picture {

const Kernels* avx2_kernels() {
  return nullptr;
}

}  // namespace ronde::data::picture

#endif
