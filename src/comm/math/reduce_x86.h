#pragma once

// Included by reduce_compiled.h alone, on x86-64.

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#define RONDE_AVX2 [[gnu::target("avx2,f16c")]]
// The instructions of AVX-512 on vectors of 256 bits. Wider ones gain nothing where memory or a cache sets the pace: on
// Zen 4 they took a fifth longer from memory, and older Intel processors lower their clock for them.
#define RONDE_AVX512 \
  [[gnu::target("avx2,f16c,avx512f,avx512bw,avx512dq,avx512vl"), gnu::target("prefer-vector-width=256")]]

namespace ronde::comm::math {

inline bool processor_has(Level level) {
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx2 && (level != Level::Avx512 || avx512);
}

// Instructions that convert f16, for the arrays' first elements; returns how many it did. Compilers do not find them by
// themselves, and the tricks in half.h take several times as long. Unrolled, because a loop of seven instructions is
// slow whenever it happens to lie across two cache lines.
template <Level>
struct F16Hardware {
  RONDE_AVX2 static std::size_t widen(float* out, const std::uint16_t* in, std::size_t count) {
    std::size_t i = 0;
#pragma GCC unroll 4
    for (; i + 8 <= count; i += 8)
      _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
    return i;
  }
  RONDE_AVX2 static std::size_t narrow(std::uint16_t* out, const float* in, std::size_t count) {
    std::size_t i = 0;
#pragma GCC unroll 4
    for (; i + 8 <= count; i += 8)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                       _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
    return i;
  }
};

template <>
struct F16Hardware<Level::Baseline> {
  static std::size_t widen(float*, const std::uint16_t*, std::size_t) { return 0; }
  static std::size_t narrow(std::uint16_t*, const float*, std::size_t) { return 0; }
};

}  // namespace ronde::comm::math
