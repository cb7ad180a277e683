#pragma once

#include <array>
#include <cstddef>

#include "ronde/comm/math/reduce_level.h"

// What these know about a processor: RONDE_AVX2 and RONDE_AVX512 (attributes of a function), processor_has,
// F16Hardware.
#if defined(__x86_64__)
#include "ronde/comm/math/reduce_x86.h"
#else
#include "ronde/comm/math/reduce_portable.h"
#endif

namespace ronde::comm::math {

// One loop, compiled for each level.
//
//   struct Negate {
//     template <Level> [[gnu::always_inline]] static void run(float* data, std::size_t count) { ... }
//   };
//   constexpr auto kNegate = compiled<Negate, float*, std::size_t>;
//   at(kNegate, best_level())(data, count);
//
// Plain function pointers: what GCC 12 makes of target_clones crashes at start under the thread sanitizer, and leaves
// no way to test a level that is not the best.
template <class Signature>
using PerLevel = std::array<Signature*, 3>;

template <class Signature>
constexpr Signature* at(const PerLevel<Signature>& kernel, Level level) {
  return kernel[static_cast<std::size_t>(level)];
}

template <class Body, class... Args>
void run_baseline(Args... args) {
  Body::template run<Level::Baseline>(args...);
}
template <class Body, class... Args>
RONDE_AVX2 void run_avx2(Args... args) {
  Body::template run<Level::Avx2>(args...);
}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wignored-attributes"  // clang has no preference for a width, and says so
template <class Body, class... Args>
RONDE_AVX512 void run_avx512(Args... args) {
  Body::template run<Level::Avx512>(args...);
}
#pragma GCC diagnostic pop

template <class Body, class... Args>
inline constexpr PerLevel<void(Args...)> compiled = {&run_baseline<Body, Args...>, &run_avx2<Body, Args...>,
                                                     &run_avx512<Body, Args...>};

}  // namespace ronde::comm::math
